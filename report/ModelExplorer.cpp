#include "report/Viewers.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::report;
using Json = nlohmann::ordered_json;
using llvm::StringRef;

namespace {

/// What Model Explorer's readers call a subgraph. That of circle files shows the first one only.
std::string graphId(const Model &model, const Subgraph &graph) {
  if (model.format == Format::Circle)
    return "main";
  if (!graph.name.empty())
    return graph.name.str();
  for (const Signature &signature : model.signatures)
    if (signature.subgraph == &graph && !signature.key.empty())
      return signature.key.str();
  return graph.index ? "subgraph_" + std::to_string(graph.index) : "main";
}

/// How nodes are called. A tensor's name counts before a node's number, so where a tensor has a number for a name,
/// operators go by the names of their first outputs.
class NodeKeys {
public:
  explicit NodeKeys(const Subgraph &graph) {
    for (const Value *value : graph.values) {
      ++timesUsed[value->name];
      byName |= !value->name.empty() && llvm::all_of(value->name, llvm::isDigit);
    }
  }
  std::optional<std::string> of(const Operator &op) const {
    if (!byName)
      return std::to_string(op.index);
    const Value *output = op.result();
    if (!output || output->name.empty() || timesUsed.lookup(output->name) > 1 || !isUtf8(output->name))
      return std::nullopt;
    return output->name.str();
  }

private:
  llvm::StringMap<unsigned> timesUsed;
  bool byName = false;
};

std::string text(const Json &value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Each graph's results, by what `valueOf` says of each operator: null leaves it out.
size_t writeGraphs(const MetricsReport &report, StringRef title,
                   llvm::function_ref<Json(const OperatorMetrics &)> valueOf, bool isRatio, llvm::raw_ostream &os) {
  const Model &model = *report.imported.model;
  llvm::StringSet<> written;
  size_t skipped = 0, first = 0;
  os << '{';
  for (auto &graph : model.subgraphs) {
    llvm::ArrayRef rows = llvm::ArrayRef(report.metrics.operators).slice(first, graph->operators.size());
    first += rows.size();
    std::string id = graphId(model, *graph);
    if (model.format == Format::Circle && graph->index > 0)
      break;
    if (!isUtf8(id) || !written.insert(id).second) {
      skipped += rows.size();
      continue;
    }
    os << (written.size() > 1 ? ",\n" : "\n") << text(id) << ": {\"name\": " << text(title.str()) << ", \"results\": {";
    NodeKeys keys(*graph);
    std::optional<double> min, max;
    const char *separator = "\n";
    for (const OperatorMetrics &row : rows) {
      Json value = valueOf(row);
      auto key = keys.of(*row.op);
      skipped += !key;
      if (value.is_null() || !key)
        continue;
      if (value.is_number()) {
        double number = value;
        min = std::min(min.value_or(number), number);
        max = std::max(max.value_or(number), number);
      }
      os << separator << text(*key) << ": {\"value\": " << text(value) << '}';
      separator = ",\n";
    }
    os << '}';
    // A range of one number has no gradient.
    if (min && *min < *max)
      os << R"(, "gradient": [{"stop": 0, "bgColor": "#ffffcc"}, {"stop": 1, "bgColor": "#800026"}])";
    else if (min)
      os << ", \"thresholds\": [{\"value\": " << text(*max) << ", \"bgColor\": \"#ffffcc\"}]";
    if (isRatio)
      os << R"(, "hideAggregatedStats": ["sum"])";
    os << '}';
  }
  os << "\n}\n";
  return skipped;
}

/// The numbers of the nodes for all inputs and all outputs, which stand before and behind those of the constants.
struct Terminals {
  std::optional<size_t> inputs, outputs;

  Terminals(bool tflite, bool hasInputs, size_t operators, size_t constants) {
    if (tflite && !hasInputs)
      return;
    inputs = operators;
    outputs = operators + 1 + constants;
  }

  static Terminals of(const Model &model, const Subgraph &graph) {
    bool tflite = model.format == Format::Tflite;
    size_t constants = 0;
    for (const Value *value : graph.values) {
      bool used = false;
      value->forEachUse([&](Use &) { used = true; });
      constants += !value->producer() && !value->isGraphInput && (used || !tflite);
    }
    return {tflite, !graph.inputs.empty(), graph.operators.size(), constants};
  }

  /// Of a source subgraph, from its listing, and the ledger for what nothing used.
  static Terminals of(const MetricsReport &report, uint32_t from) {
    const origin::Listing &listing = *report.imported.lineage.source;
    const origin::SourceSubgraph &graph = listing.subgraphs[from];
    bool tflite = listing.format == "tflite", hasInputs = false;
    size_t constants = 0;
    std::vector<bool> produced(graph.tensors.size());
    for (const origin::SourceOperator &op : graph.operators)
      for (int32_t id : op.tensors)
        if (id >= 0 && uint32_t(id) - graph.firstTensor < produced.size())
          produced[uint32_t(id) - graph.firstTensor] = true;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      hasInputs |= graph.tensors[i].kind == origin::TensorKind::Input;
      constants += !produced[i] && graph.tensors[i].kind != origin::TensorKind::Input;
    }
    llvm::SmallVector<std::pair<bool, uint32_t>> lost;
    report.imported.model->ledger(lost, [&](const LedgerRow &row) {
      uint32_t i = row.id - graph.firstTensor;
      constants -= tflite && row.isTensor && row.fate == Fate::UnusedInSource && i < produced.size() && !produced[i] &&
                   graph.tensors[i].kind != origin::TensorKind::Input;
    });
    return {tflite, hasInputs, graph.operators.size(), constants};
  }
};

} // namespace

size_t report::writeNodeData(const MetricsReport &report, const Metric &metric, llvm::raw_ostream &os) {
  auto valueOf = [&](const OperatorMetrics &row) -> Json {
    if (auto whole = metric.whole ? metric.whole(row.figures) : std::nullopt)
      return *whole;
    auto fraction = metric.whole ? std::nullopt : metric.fraction(row.figures);
    return fraction ? Json(*fraction) : Json(nullptr);
  };
  return writeGraphs(report, metric.name, valueOf, !metric.whole, os);
}

size_t report::writeOriginNodeData(const MetricsReport &report, llvm::raw_ostream &os) {
  return writeGraphs(
      report, "origins", [&](const OperatorMetrics &row) -> Json { return originsText(report, row); }, false, os);
}

void report::writeSync(const MetricsReport &report, const Subgraph &graph, uint32_t from, llvm::raw_ostream &os) {
  const origin::SourceSubgraph &source = report.imported.lineage.source->subgraphs[from];
  // A node may be in one entry only, so what has anything in common is one.
  size_t right = source.operators.size();
  llvm::EquivalenceClasses<size_t> together;
  for (const OperatorMetrics &row : report.metrics.operators) {
    if (row.op->subgraph() != &graph)
      continue;
    for (uint32_t id : row.origins)
      if (id >= source.firstOperator && id - source.firstOperator < source.operators.size())
        together.unionSets(right + row.op->index, id - source.firstOperator);
  }
  std::map<size_t, std::pair<std::vector<std::string>, std::vector<std::string>>> entries; // by the first node
  std::map<size_t, size_t> firstOf;
  for (auto it = together.begin(); it != together.end(); ++it) { // in the order of numbers
    size_t first = firstOf.try_emplace(together.getLeaderValue(it->getData()), it->getData()).first->second;
    auto &[left, other] = entries[first];
    size_t node = it->getData();
    (node < right ? left : other).push_back(std::to_string(node < right ? node : node - right));
  }
  Json file = {{"type", "sync_navigation"}, {"disableMappingFallback", true}, {"showDiffHighlights", true}};
  Json &list = file["mappingEntries"] = Json::array();
  for (auto &[first, nodes] : entries)
    list.push_back({{"leftNodeIds", nodes.first}, {"rightNodeIds", nodes.second}});
  Terminals a = Terminals::of(report, from), b = Terminals::of(*report.imported.model, graph);
  auto terminal = [&](std::optional<size_t> left, std::optional<size_t> right) {
    if (left && right)
      list.push_back({{"leftNodeIds", {std::to_string(*left)}}, {"rightNodeIds", {std::to_string(*right)}}});
  };
  terminal(a.inputs, b.inputs);
  terminal(a.outputs, b.outputs);
  os << file.dump(1) << '\n';
}
