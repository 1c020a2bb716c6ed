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
  const origin::Listing *listing =
      nullptr; ///< whose operators those of `source` stand for; null: nothing is told of lines
};

/// By what tables are sorted: the effect where it is known, as many times as the own error is what rounding the result
/// explains, which is a step by the root of 12; else the own error, else all of it. For what is rounded as it has to
/// be, nobody is to blame.
double blameOf(const ErrorRow &row, const ErrorMetric &metric);
/// Own error, root of the mean square, in steps of the quantisation.
std::optional<double> ownSteps(const ErrorRow &row);

/// The name of the layer that makes a tensor: as exporters told it, or else the tensor's own.
llvm::StringRef layerNameOf(const ErrorReport &report, const Value &value);
/// The line of a program that called what makes a tensor, or its file; empty: it is not known.
std::string lineOf(const ErrorReport &report, const Value &value, bool fileOnly = false);

enum class ErrorOrder { Blame, Execution };
/// A line a tensor.
void printErrors(const ErrorReport &report, const ErrorMetric &metric, ErrorOrder order, llvm::raw_ostream &os);
/// By what errors of layers are brought together.
enum class ErrorsBy { Scope, Line, File };
/// A line a scope of names, or a line or a file of the program that made the source: the worst of its layers, and the
/// sum of their effects.
void printErrorsBy(const ErrorReport &report, ErrorsBy by, const ErrorMetric &metric, llvm::raw_ostream &os);
/// visq's file, with all figures under a key of its own. docs/errors.md describes it.
void writeErrors(const ErrorReport &report, const ErrorMetric &metric, llvm::raw_ostream &os);
/// visq's picture of subgraph 0.
void writeErrorDot(const ErrorReport &report, const ErrorMetric &metric, llvm::raw_ostream &os);

} // namespace origo::report
