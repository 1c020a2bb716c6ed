#pragma once

#include "report/Scopes.h"
#include "report/metrics/Statistics.h"

#include "import/Import.h"

#include "llvm/ADT/MapVector.h"

/// What a model costs, counted from its file. docs/metrics.md has the formulas.
namespace origo::report {

/// The figures of an operator, or of several together. What is not known of one is left out of the sum, and `unknown`
/// counts it.
struct Figures {
  std::optional<uint64_t> macs, sparseMacs, operations;
  uint64_t parameters = 0, bytes = 0; ///< of constants
  uint64_t activationBytes = 0;       ///< read and written that are no constants
  uint64_t liveBytes = 0;             ///< activations that are needed at the same time
  uint64_t elements = 0, zeros = 0;   ///< of the constants that could be read
  uint64_t blocks = 0, zeroBlocks = 0;
  uint64_t unknownMacs = 0, unknownOperations = 0; ///< operators

  std::optional<double> sparsity() const;
  std::optional<double> blockSparsity() const;
  std::optional<double> intensity() const; ///< operations per byte read or written
};

struct TensorMetrics {
  const Value *value;
  bool isConstant;
  uint64_t parameters; ///< elements of a constant; 0 of others
  uint64_t bytes;      ///< 0 where the type does not tell
  std::optional<Statistics> statistics;
};

struct OperatorMetrics {
  const Operator *op;
  Figures figures;
  std::vector<uint32_t> origins; ///< ids of source operators, ascending
};

/// A tensor that takes memory while most is taken.
struct AliveTensor {
  const Value *value;
  uint64_t bytes;
  size_t from, to; ///< operators, by position, that make it and that read it last
  bool waits;      ///< the operator at the peak neither makes nor reads it
  /// The most that would be taken if it took none while it waits; of the largest ones.
  std::optional<uint64_t> without = {};
  std::vector<uint32_t> origins = {}; ///< of what computes it; of an input none
};

struct SubgraphMetrics {
  const Subgraph *graph;
  Figures figures;
  size_t peak = 0;      ///< position of the first operator at which most is taken
  uint64_t atLeast = 0; ///< what some operator makes and reads, which no order of operators can be without
  std::vector<AliveTensor> alive = {}; ///< at the peak, the largest first
};

/// What of the model's cost is a source operator's.
struct SourceMetrics {
  uint64_t macs = 0, sparseMacs = 0, operations = 0, parameters = 0, bytes = 0;
  std::optional<uint64_t> ownMacs;                      ///< in the source, where that was given
  std::vector<std::pair<uint32_t, uint32_t>> operators; ///< that it lives in: subgraph, index
};

struct ModelMetrics {
  Figures figures;
  std::vector<SubgraphMetrics> subgraphs;
  std::vector<OperatorMetrics> operators; ///< in file order, like the tensors
  std::vector<TensorMetrics> tensors;
  std::vector<SourceMetrics> sources; ///< by id
  SourceMetrics synthetic;            ///< what no source operator is behind
};

struct ScopeMetrics {
  ScopeLine scope;
  SourceMetrics sum; ///< without `operators`
};
/// In the order of the source, and last what is of no source operator: the lines of level 1 add up to the model.
std::vector<ScopeMetrics> byScope(const ModelMetrics &metrics, const origin::Listing &listing);
/// The same by the lines of the program that made the source, or by its files; all of level 1.
std::vector<ScopeMetrics> byLine(const ModelMetrics &metrics, const origin::Listing &listing, bool files);

/// `source`: the model that the origins' ids are of, if it is at hand, for their weights.
ModelMetrics metricsOf(const Model &model, const origin::Listing &listing, const Model *source,
                       const StatisticsOptions &options);

std::optional<uint64_t> macsOf(const Operator &op); ///< nothing where they are not known

/// One figure by its name, for columns, and for viewers that show one at a time.
struct Metric {
  llvm::StringRef name, meaning;
  std::optional<uint64_t> (*whole)(const Figures &); ///< null for a fraction
  std::optional<double> (*fraction)(const Figures &);
  std::optional<double> of(const Figures &figures) const;
  std::string text(const Figures &figures) const; ///< with all digits; empty where it is not known
};
llvm::ArrayRef<Metric> allMetrics();
const Metric *findMetric(llvm::StringRef name); ///< null: there is none

/// The name of its first output that has one.
llvm::StringRef nameOf(const Operator &op);

// As text.

std::string shortest(double value); ///< finite; with the digits that tell it from all others, as JSON wants them

enum class Rows { Model, Subgraphs, Operators, Tensors, Sources, Scopes, Lines, Files, Memory };

struct MetricsReport {
  const Imported &imported;
  const ModelMetrics &metrics;
  std::string file; ///< base name of the model
  unsigned block = 4;
};

void printMetrics(const MetricsReport &report, llvm::raw_ostream &os); ///< totals, and a line an operator
void printMetrics(const MetricsReport &report, Rows rows, bool full, llvm::raw_ostream &os);
void printMetricsCsv(const MetricsReport &report, Rows rows, llvm::raw_ostream &os);
void printMetricsJson(const MetricsReport &report, llvm::raw_ostream &os);

} // namespace origo::report
