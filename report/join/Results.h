#pragma once

#include "report/join/Compare.h"

#include <optional>
#include <vector>

/// Two results of one source, two levels or versions of a compiler or two quantisations, compared layer by layer of the
/// source: what became of each, and what it takes.
namespace origo {
struct Imported;
}

namespace origo::report {

/// What a result made of a source operator.
struct LayerOfResult {
  std::string name;   ///< untrusted
  std::string became; ///< "CONV_2D+RELU6 i8"; of one that is gone its fate, "(identity)"
  uint64_t bytes = 0; ///< its share of the constants
  std::string line;   ///< of the program that called it; empty: not known
};

struct ResultSummary {
  std::string fingerprint;                ///< of the source
  std::vector<LayerOfResult> layers;      ///< by source operator
  size_t operators = 0, synthetic = 0;    ///< written ones
  uint64_t bytes = 0, syntheticBytes = 0; ///< of constants
};
ResultSummary summarize(Imported &result);

/// What `visq --json` wrote, as far as comparing needs it.
struct ErrorSummary {
  std::string metric;
  std::map<uint32_t, double> operators; ///< by source operator: the error of its result
};
llvm::Expected<ErrorSummary> readErrorSummary(llvm::StringRef text);

/// Measured elsewhere, of both or of none.
struct ResultFigures {
  std::optional<std::pair<JoinSummary, JoinSummary>> times;
  std::optional<std::pair<ErrorSummary, ErrorSummary>> errors;
};

/// The table has the layers in which the two differ, `table.full` all, JSON and CSV all by id. With
/// CompareOrder::Change they go by the change in time where that is known, else in error, else in bytes. The result is
/// a line for the user.
llvm::Expected<std::string> compareResults(const ResultSummary &a, const ResultSummary &b, const ResultFigures &figures,
                                           CompareBy by, CompareFormat format, const CompareTable &table,
                                           llvm::raw_ostream &os);

} // namespace origo::report
