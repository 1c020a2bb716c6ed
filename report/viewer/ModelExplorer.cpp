#include "report/viewer/Viewers.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace origo;
using namespace origo::report;
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
      return '"' + std::to_string(op.index) + '"';
    const Value *output = op.result();
    if (!output || output->name.empty() || timesUsed.lookup(output->name) > 1 || !isUtf8(output->name))
      return std::nullopt;
    return jsonText(output->name);
  }

private:
  llvm::StringMap<unsigned> timesUsed;
  bool byName = false;
};

/// The metric of each graph's operators; without one, their origins.
size_t writeGraphs(const MetricsReport &report, const Metric *metric, llvm::raw_ostream &os) {
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
    os << (written.size() > 1 ? ",\n" : "\n") << jsonText(id) << ": {\"name\": \""
       << (metric ? metric->name : StringRef("origins")) << "\", \"results\": {";
    NodeKeys keys(*graph);
    std::optional<double> min, max;
    const char *separator = "\n";
    for (const OperatorMetrics &row : rows) {
      std::string value = metric ? metric->text(row.figures) : jsonText(originsText(report, row));
      auto key = keys.of(*row.op);
      skipped += !key;
      if (value.empty() || !key)
        continue;
      if (auto number = metric ? metric->of(row.figures) : std::nullopt) {
        min = std::min(min.value_or(*number), *number);
        max = std::max(max.value_or(*number), *number);
      }
      os << separator << *key << ": {\"value\": " << value << '}';
      separator = ",\n";
    }
    os << '}';
    // A range of one number has no gradient.
    if (min && *min < *max)
      os << R"(, "gradient": [{"stop": 0, "bgColor": "#ffffcc"}, {"stop": 1, "bgColor": "#800026"}])";
    else if (min)
      os << ", \"thresholds\": [{\"value\": " << shortest(*max) << ", \"bgColor\": \"#ffffcc\"}]";
    if (metric && !metric->whole)
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

  static bool isRead(const Value &value) {
    bool read = false;
    value.forEachUse([&](const Use &) { read = true; });
    return read;
  }

  static Terminals of(const Model &model, const Subgraph &graph) {
    bool tflite = model.format == Format::Tflite;
    size_t constants = 0;
    for (const Value *value : graph.values)
      constants += !value->producer() && !value->isGraphInput && (isRead(*value) || !tflite);
    return {tflite, !graph.inputs.empty(), graph.operators.size(), constants};
  }

  /// Of a source subgraph, from its listing. The reader of tflite files makes nodes only of constants that an operator
  /// reads; which do, the ledger tells, and what is left of the others in `target`.
  static Terminals of(const MetricsReport &report, uint32_t from, const Subgraph &target) {
    const origin::Listing &listing = *report.imported.lineage.source;
    const origin::SourceSubgraph &graph = listing.subgraphs[from];
    bool tflite = listing.format == "tflite", hasInputs = false;
    std::vector<bool> isConstant(graph.tensors.size());
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      origin::TensorKind kind = graph.tensors[i].kind;
      hasInputs |= kind == origin::TensorKind::Input;
      isConstant[i] = kind != origin::TensorKind::Input && !(tflite && kind == origin::TensorKind::Activation);
    }
    auto isNone = [&](int64_t id) {
      if (id >= graph.firstTensor && id - graph.firstTensor < int64_t(isConstant.size()))
        isConstant[id - graph.firstTensor] = false;
    };
    for (const origin::SourceOperator &op : graph.operators)
      llvm::for_each(op.tensors, isNone);
    if (tflite) {
      llvm::SmallVector<std::pair<bool, uint32_t>> lost;
      report.imported.model->ledger(lost, [&](const LedgerRow &row) {
        if (row.isTensor && row.fate == Fate::UnusedInSource)
          isNone(row.id);
      });
      for (const Value *value : target.values)
        if (!value->producer() && !isRead(*value) && !value->relations.empty() && value->relations.front().exact)
          isNone(value->relations.front().tensor);
    }
    size_t constants = llvm::count(isConstant, true);
    return {tflite, hasInputs, graph.operators.size(), constants};
  }
};

} // namespace

size_t report::writeNodeData(const MetricsReport &report, const Metric &metric, llvm::raw_ostream &os) {
  return writeGraphs(report, &metric, os);
}

size_t report::writeOriginNodeData(const MetricsReport &report, llvm::raw_ostream &os) {
  return writeGraphs(report, nullptr, os);
}

void report::writeSync(const MetricsReport &report, const Subgraph &graph, uint32_t from, llvm::raw_ostream &os) {
  const origin::SourceSubgraph &source = report.imported.lineage.source->subgraphs[from];
  const Model &model = *report.imported.model;
  // A node may be in one entry only, so what has anything in common is one.
  uint32_t right = source.operators.size(), count = right + graph.operators.size();
  llvm::IntEqClasses together(count);
  for (const Operator &op : graph.operators)
    model.sets.forEach(op.origins, [&](uint32_t id) {
      if (id >= source.firstOperator && id - source.firstOperator < right)
        together.join(right + op.index, id - source.firstOperator);
    });
  together.compress(); // classes are numbered by their first nodes
  std::vector<std::pair<std::string, std::string>> entries(together.getNumClasses());
  for (uint32_t node = 0; node < count; ++node) {
    auto &[left, other] = entries[together[node]];
    std::string &list = node < right ? left : other;
    list += (list.empty() ? "\"" : ", \"") + std::to_string(node < right ? node : node - right) + '"';
  }
  os << R"({"type": "sync_navigation", "disableMappingFallback": true, "showDiffHighlights": true, "mappingEntries": [)";
  const char *separator = "\n";
  auto entry = [&](const llvm::Twine &left, const llvm::Twine &other) {
    os << separator << "{\"leftNodeIds\": [" << left << "], \"rightNodeIds\": [" << other << "]}";
    separator = ",\n";
  };
  for (auto &[left, other] : entries)
    if (!left.empty() && !other.empty())
      entry(left, other);
  Terminals a = Terminals::of(report, from, graph), b = Terminals::of(model, graph);
  auto terminal = [&](std::optional<size_t> left, std::optional<size_t> other) {
    if (left && other)
      entry("\"" + llvm::Twine(*left) + "\"", "\"" + llvm::Twine(*other) + "\"");
  };
  terminal(a.inputs, b.inputs);
  terminal(a.outputs, b.outputs);
  os << "\n]}\n";
}
