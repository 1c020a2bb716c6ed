#include "report/viewer/Viewers.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::report;
using Json = nlohmann::ordered_json;
using llvm::StringRef;

namespace {

/// From light yellow to dark red, the colours that visq uses.
constexpr const char *colors[] = {"#ffffcc", "#ffeda0", "#fed976", "#feb24c", "#fd8d3c",
                                  "#fc4e2a", "#e31a1c", "#bd0026", "#800026"};

llvm::ArrayRef<OperatorMetrics> firstSubgraph(const MetricsReport &report) {
  size_t count = report.imported.model->subgraphs.empty() ? 0 : report.imported.model->subgraphs[0]->operators.size();
  return llvm::ArrayRef(report.metrics.operators).take_front(count);
}

llvm::Error noValues(const Metric &metric) {
  return makeError("no operator of subgraph 0 has the metric " + metric.name);
}

} // namespace

std::optional<ColorSlots> ColorSlots::over(const MetricsReport &report, const Metric &metric) {
  std::optional<double> min, max;
  for (const OperatorMetrics &row : firstSubgraph(report))
    if (auto value = metric.of(row.figures)) {
      min = std::min(min.value_or(*value), *value);
      max = std::max(max.value_or(*value), *value);
    }
  if (!min)
    return std::nullopt;
  return between(*min, *max);
}

ColorSlots ColorSlots::between(double min, double max) {
  ColorSlots result;
  size_t count = std::size(colors);
  double width = (max - min) / double(count);
  for (size_t i = 0; i < count; ++i)
    result.slots.push_back({min + width * double(i), min + width * double(i + 1), colors[i]});
  if (min == max) // a range of one value is widened, or it would be no range
    for (size_t i = 0; i < count; ++i)
      result.slots[i] = {min + double(i), min + double(i + 1), colors[i]};
  // The viewers' slots do not contain their ends.
  double &end = result.slots.back().end;
  end = std::nextafter(std::max(end, max), std::numeric_limits<double>::infinity());
  return result;
}

const ColorSlots::Slot &ColorSlots::of(double value) const {
  for (const Slot &slot : slots)
    if (value < slot.end)
      return slot;
  return slots.back();
}

llvm::Expected<size_t> report::writeVisq(const MetricsReport &report, const Metric &metric, llvm::raw_ostream &os) {
  auto slots = ColorSlots::over(report, metric);
  if (!slots)
    return noValues(metric);
  Json scheme = Json::array();
  for (const ColorSlots::Slot &slot : slots->slots)
    scheme.push_back({{"b", slot.begin}, {"e", slot.end}, {"c", slot.color}});
  // The viewer colours an operator by the last of its outputs, so all of them have the value.
  llvm::StringMap<unsigned> timesUsed;
  for (const Value *value : report.imported.model->subgraphs[0]->values)
    ++timesUsed[value->name];
  auto text = [](const Json &value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  Json meta = {{"model", report.file}, {"metric", metric.name.str()}, {"colorscheme", std::move(scheme)}};
  os << "{\"meta\": " << text(meta) << ",\n\"error\": [{";
  size_t skipped = 0;
  const char *separator = "\n";
  for (const OperatorMetrics &row : firstSubgraph(report)) {
    auto number = metric.of(row.figures);
    if (!number)
      continue;
    for (const Value *value : row.op->results()) {
      if (!value)
        continue;
      if (value->name.empty() || timesUsed.lookup(value->name) > 1 || !isUtf8(value->name)) {
        ++skipped;
        continue;
      }
      os << separator << text(value->name.str()) << ": " << text(*number);
      separator = ",\n";
    }
  }
  os << "}]}\n";
  return skipped;
}

namespace {

/// Nodes are called by their first output, as visq does, with its number where that is no name of its own.
class Picture {
public:
  Picture(const MetricsReport &report, const Metric &metric, llvm::raw_ostream &os)
      : report(report), metric(metric), os(os), slots(*ColorSlots::over(report, metric)) {}

  void print() {
    const Subgraph &graph = *report.imported.model->subgraphs[0];
    // printable() escapes quotes and backslashes the way DOT wants them.
    os << "digraph \"" << printable(report.file) << "\" {\n  node [shape=box];\n";
    colorTable();
    for (const Value *value : graph.inputs)
      os << "  " << idOf(*value) << " [shape=ellipse];\n";
    for (const OperatorMetrics &row : firstSubgraph(report))
      node(row);
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      os << "  \"output " << i << "\" [shape=ellipse];\n";
    for (const OperatorMetrics &row : firstSubgraph(report))
      for (const Use &use : row.op->operands())
        if (const Value *value = use.get(); value && (value->producer() || value->isGraphInput))
          edge(*value, idOf(*row.op));
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      if (const Value *value = graph.outputs[i]; value && (value->producer() || value->isGraphInput))
        edge(*value, "\"output " + std::to_string(i) + "\"");
    os << "}\n";
  }

private:
  const MetricsReport &report;
  const Metric &metric;
  llvm::raw_ostream &os;
  ColorSlots slots;
  llvm::DenseMap<const void *, std::string> ids;
  llvm::StringSet<> taken{{"color_table"}};

  const std::string &id(const void *what, StringRef name, const std::string &otherwise) {
    std::string &result = ids[what];
    if (!result.empty())
      return result;
    // Another tensor may have such a name with a number, so that the number may have to stand there twice.
    std::string text = name.empty() ? otherwise : printable(name, 400);
    while (!taken.insert(text).second)
      text += " " + otherwise;
    result = '"' + text + '"';
    return result;
  }
  const std::string &idOf(const Value &value) { return id(&value, value.name, "#" + std::to_string(value.index)); }
  const std::string &idOf(const Operator &op) {
    return id(&op, op.result() ? op.result()->name.text() : "", "operator " + std::to_string(op.index));
  }

  void colorTable() {
    os << "  color_table [shape=none label=<<table>";
    for (const ColorSlots::Slot &slot : slots.slots)
      os << "<tr><td bgcolor=\"" << slot.color << "\">" << metric.name << ": " << llvm::format("%.4f", slot.begin)
         << " ~ " << llvm::format("%.4f", slot.end) << "</td></tr>";
    os << "</table>>];\n";
  }

  void node(const OperatorMetrics &row) {
    std::string label = std::to_string(row.op->index) + " " + printable(row.op->opName()) + "\\n" +
                        printable(originsText(report, row), 200);
    os << "  " << idOf(*row.op) << " [label=\"" << label << "\" style=filled ";
    if (auto value = metric.of(row.figures))
      os << "fillcolor=\"" << slots.of(*value).color << "\" xlabel=\"" << metric.name << ": "
         << llvm::format("%.4f", *value) << '"';
    else
      os << "fillcolor=gray";
    os << "];\n";
  }

  void edge(const Value &value, const std::string &to) {
    os << "  " << (value.producer() ? idOf(*value.producer()) : idOf(value)) << " -> " << to << ";\n";
  }
};

} // namespace

llvm::Expected<size_t> report::writeMetricDot(const MetricsReport &report, const Metric &metric,
                                              llvm::raw_ostream &os) {
  if (!ColorSlots::over(report, metric))
    return noValues(metric);
  Picture(report, metric, os).print();
  return 0;
}
