#pragma once

#include "report/errors/Errors.h"

#include "llvm/Support/raw_ostream.h"

/// Errors for people, for ONE's viewers, and for ours.
namespace origo::report {

struct ErrorReport {
  const Model &source;
  llvm::ArrayRef<ErrorRow> rows;
  std::string sourceFile, resultFile; ///< base names
  Pairs::By by = Pairs::By::Relations;
  uint64_t records = 0;
};

/// The figure of a row by which tables are sorted: the effect where it is known, else its own error, else all of it.
double blameOf(const ErrorRow &row, const ErrorMetric &metric);

enum class ErrorOrder { Blame, Execution };
/// A line a tensor.
void printErrors(const ErrorReport &report, const ErrorMetric &metric, ErrorOrder order, llvm::raw_ostream &os);
/// A line a scope of names: the worst of its layers, and the sum of their effects.
void printErrorScopes(const ErrorReport &report, const ErrorMetric &metric, llvm::raw_ostream &os);
/// visq's file, with all figures under a key of its own. docs/errors.md describes it.
void writeErrors(const ErrorReport &report, const ErrorMetric &metric, llvm::raw_ostream &os);
/// visq's picture of subgraph 0.
void writeErrorDot(const ErrorReport &report, const ErrorMetric &metric, llvm::raw_ostream &os);

} // namespace origo::report
