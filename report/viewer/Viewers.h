#pragma once

#include "report/metrics/Metrics.h"

/// Files for the viewers of other people. docs/viewers.md says what each one shows; the names and numbers by which they
/// find an operator again are theirs. Rows that they could not find, or would show in a wrong place, are left out and
/// counted.
namespace origo::report {

/// An attachment for Netron: origins and passes, and all metrics.
size_t writeNetron(const MetricsReport &report, llvm::raw_ostream &os);

/// Node data for Model Explorer: one metric.
size_t writeNodeData(const MetricsReport &report, const Metric &metric, llvm::raw_ostream &os);
/// The same with the names of the source operators.
size_t writeOriginNodeData(const MetricsReport &report, llvm::raw_ostream &os);
/// Which nodes of source subgraph `from` (the left pane) are which of `graph` (the right one).
void writeSync(const MetricsReport &report, const Subgraph &graph, uint32_t from, llvm::raw_ostream &os);

/// visq's form of one metric of subgraph 0, and its picture. An error if no operator has the metric.
llvm::Expected<size_t> writeVisq(const MetricsReport &report, const Metric &metric, llvm::raw_ostream &os);
llvm::Expected<size_t> writeMetricDot(const MetricsReport &report, const Metric &metric, llvm::raw_ostream &os);

/// The names of the source operators behind a written one, "conv1; bn1; relu1"; the reason of one that has none.
std::string originsText(const MetricsReport &report, const OperatorMetrics &row);

/// A range in slots of equal width, from light to dark.
struct ColorSlots {
  struct Slot {
    double begin, end;
    const char *color;
  };
  std::vector<Slot> slots;
  const Slot &of(double value) const;
  static ColorSlots between(double min, double max);
  /// Of a metric over the operators of subgraph 0.
  static std::optional<ColorSlots> over(const MetricsReport &report, const Metric &metric);
};

/// What of a text is no UTF-8 has no place in JSON that others look names up in.
bool isUtf8(llvm::StringRef text);
/// In quotes.
std::string jsonText(llvm::StringRef text);

} // namespace origo::report
