#pragma once

#include "report/errors/Figures.h"

#include "llvm/Support/Error.h"

#include <string>

namespace origo::report {

/// What was measured of some records, as a file: parts of several machines add up to the same as one run measures, in
/// whatever order they are put together.
struct ErrorPart {
  struct Row {
    unsigned subgraph = 0, tensor = 0; ///< of the source
    bool seen = false;                 ///< the source has computed it
    std::string unmeasured = {};       ///< why a record gave no figures
    ErrorSums total = {}, own = {}, inherited = {};
    ExactSum effects = {};
    uint64_t effectTimes = 0;
  };
  std::string source, result;    ///< fingerprints of the models
  std::string engine;            ///< what computed
  bool own = false;              ///< own errors were measured
  uint64_t withEffects = 0;      ///< of so many records, by number, the effects on the outputs
  std::vector<uint64_t> records; ///< ascending
  std::vector<Row> rows;

  std::string text() const; ///< as a file, in JSON
  static llvm::Expected<ErrorPart> parse(llvm::StringRef text);
  llvm::Error merge(const ErrorPart &other);
};

/// Of several reasons the first by name, whichever came first.
inline void noteUnmeasured(std::string &have, const std::string &why) {
  if (have.empty() || (!why.empty() && why < have))
    have = why;
}

} // namespace origo::report
