#pragma once

#include "report/errors/Errors.h"
#include "report/errors/Live.h"

#include <map>

/// What an ErrorRun holds, for the two files that it is in.
namespace origo::report {

struct ErrorRun::Parts {
  Parts(Pairs pairs, eval::Session source, eval::Session result, const ErrorOptions &options)
      : pairs(std::move(pairs)), source(std::move(source)), result(std::move(result)), options(options) {}
  Pairs pairs;
  eval::Session source, result;
  ErrorOptions options;
  std::vector<ErrorRow> rows;
  llvm::DenseMap<const Value *, size_t> rowOf;    ///< of what can be measured
  ErrorPart part;                                 ///< what has been measured, by row
  eval::State sourceState, resultState, ledState; ///< of the runs that all records have
  eval::Turns sourceTurns, resultTurns;
  bool remembers = false; ///< one of the models leaves something for its next run
  bool recovers = false;  ///< a tensor of the source has no counterpart
  /// Of the record that has not ended; own errors by counterpart, of which the worst counts.
  struct Open {
    bool touched = false;
    RecordSums total, inherited;
    std::map<std::pair<unsigned, unsigned>, RecordSums> own; ///< by subgraph and tensor of the result
  };
  std::vector<Open> open;      ///< by row
  std::vector<size_t> touched; ///< those of them that the record has
  struct Signature {
    Readings readings;
    std::optional<eval::RunPart> slice; ///< what of the source tensors without a counterpart need; none: all runs again
  };
  std::map<std::string, Signature> signatures;
};

} // namespace origo::report
