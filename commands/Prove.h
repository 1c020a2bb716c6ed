#pragma once

#include "commands/Related.h"
#include "eval/exact/Prove.h"

#include <map>
#include <string>
#include <vector>

namespace origo::commands {

/// What the files of a model and of its source say, and the map of the model, in exact arithmetic (docs/proof.md).
struct FileProof {
  struct Constants {
    unsigned same = 0;     ///< a constant of the source, element by element, perhaps at other places
    unsigned computed = 0; ///< of the source's by the operators that the map names, bit for bit
    unsigned rounded = 0;  ///< one of these two, rounded to what it is stored as
    uint64_t numbers = 0;  ///< in `rounded` that are quantised
    uint64_t clipped = 0;  ///< of these, beyond what their integers reach by more than half a step
    unsigned stated = 0;   ///< by a rewrite, such as a bias of zeros; the proof takes it as it is
    std::map<std::string, unsigned> untold = {}; ///< by reason
    std::vector<std::string> wrong = {};         ///< not what the map says: which one, and where
  } constants;
  eval::Proof graph;                  ///< but for what is different
  std::vector<std::string> different; ///< of the graph, in the order of execution, outputs last

  bool isUnequal() const { return !constants.wrong.empty() || !different.empty(); }
  /// "equal", "unequal", "undecided", or "undefined" where something is divided by zero.
  const char *verdict() const;
};

/// A quantised model is judged without its rounding: each of its constants is held against the real number that was
/// rounded, and the graph computes with those.
///
/// Proves `related.result` equal to `related.source` from nothing but both and the map: each constant is computed again
/// from the source's as the map says, and both graphs are run without rounding. An error: nothing could be compared, or
/// the map does not lead to the source.
llvm::Expected<FileProof> proveFiles(Related related, PayloadStore &store, const eval::ProveOptions &options = {});

/// Of a graph in which nothing is different.
const char *verdict(const eval::Proof &proof);
/// What exact arithmetic says of tensors, in one line.
std::string proofText(const eval::Proof &proof);
/// The same with the verdict, by what it can be run again, and what it assumes.
std::string certificateText(const eval::Proof &proof);
void printProof(const FileProof &proof, bool json, llvm::raw_ostream &os);

} // namespace origo::commands
