#pragma once

#include "eval/Session.h"
#include "import/Import.h"
#include "origin/Files.h"

namespace origo::report {

struct InferOptions {
  std::vector<uint32_t> seeds = {1, 2}; ///< the first one finds relations, the others have to agree
  /// What the source's inputs are in a run, counted from 0 as the seeds are; nothing, or no function: random numbers.
  std::function<llvm::Expected<std::vector<eval::OwnedTensor>>(llvm::ArrayRef<eval::Port> inputs,
                                                               llvm::StringRef signature, unsigned run)>
      inputs;
  /// Inputs that are the same, by their names in the source and in the result.
  std::vector<std::pair<std::string, std::string>> bound;
  /// How axes of inputs have moved that look the same when they have: 0: not; 1: channels went last; 2: first.
  unsigned moved = 0;
  std::string evidence; ///< what the runs were, for the map; empty: the seeds
  /// Of the result before it was edited, to the same source: what still holds of it is kept. Null: there is none.
  const origin::OriginMap *earlier = nullptr;
};

/// How much of the result has been found in the source.
struct InferCoverage {
  struct Count {
    size_t all = 0, related = 0, proved = 0, ambiguous = 0, unknown = 0;
  };
  Count operators, tensors, constants;
  size_t flat = 0, related = 0, live = 0; ///< computed tensors: all one number; of the others, related, and all
  size_t kept = 0;                        ///< operators of which an earlier map said what still holds
  size_t doubts = 0; ///< bounds, outputs and signatures that are not the source's, each with a note
  bool whole() const {
    auto isWhole = [](const Count &count) { return !count.unknown && count.related == count.all; };
    return !doubts && isWhole(operators) && isWhole(tensors) && isWhole(constants);
  }
};

/// An operator of the result that computes something else than the source, from the source's own numbers.
struct InferDifference {
  uint32_t subgraph = 0, index = 0; ///< in the result
  int32_t sourceOperator = -1;      ///< whose result it should have; −1: nobody's in particular
  double off = 0, range = 0;        ///< the largest difference, and the largest number of the source's tensor
  std::string why;
};

/// An operator of the result of which not everything was executed on all seeds.
struct InferDoubt {
  enum Kind : uint8_t {
    Unproved,  ///< its origins follow from structure alone
    Ambiguous, ///< what it computes may as well be another tensor of the source, which is equal to it
    Unknown,   ///< nothing is known
  };
  uint32_t subgraph, index;
  Kind kind;
};

struct Inferred {
  origin::OriginMap map;
  InferCoverage coverage;
  std::vector<InferDoubt> doubts = {}; ///< in the order of the operators
  std::optional<InferDifference> first;
  std::vector<std::string> notes;
};

/// Finds what the operators, tensors and constants of a model are in another one that it was made from, by what they
/// compute and by who feeds whom; names count for nothing. Both models are their own sources. The files are those of
/// the models; their names are for the map. An error: they are not related.
llvm::Expected<Inferred> infer(Imported &source, const origin::ModelView &sourceFile, Imported &result,
                               const origin::ModelView &resultFile, const InferOptions &options = {});

/// Notes what runs do not show: bounds of operators, outputs and signatures that are not the source's.
void compareUnseen(const Model &source, const Model &result, Inferred &made);

/// How much was found in one line, and in another one what computes something else.
std::string summaryOf(const Inferred &made);

} // namespace origo::report
