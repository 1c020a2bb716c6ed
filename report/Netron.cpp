#include "report/Viewers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::report;
using Json = nlohmann::ordered_json;
using llvm::StringRef;

bool report::isUtf8(StringRef text) { return llvm::json::isUTF8(text); }

std::string report::originsText(const MetricsReport &report, const OperatorMetrics &row) {
  constexpr size_t shown = 20;
  const origin::Listing &listing = *report.imported.lineage.source;
  std::string text;
  for (uint32_t id : llvm::ArrayRef(row.origins).take_front(shown)) {
    const origin::SourceOperator *op = listing.findOperator(id);
    std::string name = op ? std::string(listing.nameOf(*op)) : "";
    if (name.empty())
      name = (op ? op->op.str() + " " : std::string("operator ")) + std::to_string(id);
    text += (text.empty() ? "" : "; ") + name;
  }
  if (row.origins.size() > shown)
    text += "; and " + std::to_string(row.origins.size() - shown) + " more";
  if (row.origins.empty())
    text = "synthetic: " + (row.op->synthetic ? row.op->synthetic->reason.str() : "no origin");
  return text;
}

namespace {

/// Netron knows a tensor by its name up to a line break, and asks for names in all subgraphs alike.
StringRef keyOf(const Value &value) { return value.name.split('\n').first; }

class Attachment {
public:
  explicit Attachment(const MetricsReport &report) : report(report), model(*report.imported.model) {
    for (auto &graph : model.subgraphs)
      for (const Value *value : graph->values)
        ++timesUsed[keyOf(*value)];
  }

  size_t write(llvm::raw_ostream &os) {
    os << "{\"signature\":\"netron:attachment\",\n\"metadata\":[";
    separator = "\n";
    for (const OperatorMetrics &row : report.metrics.operators)
      describe(row);
    describeValues();
    os << body << "],\n\"metrics\":[";
    body.clear();
    separator = "\n";
    figures({{"kind", "model"}, {"target", ""}}, report.metrics.figures);
    for (const SubgraphMetrics &row : report.metrics.subgraphs)
      if (auto name = nameOf(*row.graph))
        figures({{"kind", "graph"}, {"target", *name}}, row.figures);
    for (const OperatorMetrics &row : report.metrics.operators)
      if (auto key = keyOf(row))
        figures(*key, row.figures, row.op->subgraph()->index ? "operator." : ""); // beside the output's own
    for (const TensorMetrics &row : report.metrics.tensors)
      tensor(row);
    os << body << "]}\n";
    return skipped.size();
  }

private:
  const MetricsReport &report;
  const Model &model;
  llvm::StringMap<unsigned> timesUsed;
  llvm::DenseSet<const Value *> skipped;
  std::string body;
  const char *separator = "";

  void put(Json key, StringRef name, Json value) {
    key["name"] = name.str();
    key["value"] = std::move(value);
    body += separator + key.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }

  void figures(const Json &key, const Figures &figures, const char *prefix = "") {
    for (const Metric &metric : allMetrics()) {
      std::string name = prefix + metric.name.str();
      if (auto whole = metric.whole ? metric.whole(figures) : std::nullopt)
        put(key, name, *whole);
      else if (auto fraction = metric.whole ? std::nullopt : metric.fraction(figures))
        put(key, name, *fraction);
    }
  }

  /// How Netron calls a graph; nothing if another has the name too.
  std::optional<std::string> nameOf(const Subgraph &graph) const {
    auto name = [&](const Subgraph &graph) {
      return !graph.name.empty() ? graph.name.str() : model.subgraphs.size() > 1 ? std::to_string(graph.index) : "";
    };
    for (auto &other : model.subgraphs)
      if (other.get() != &graph && name(*other) == name(graph))
        return std::nullopt;
    return isUtf8(name(graph)) ? std::optional(name(graph)) : std::nullopt;
  }

  std::optional<Json> keyOf(const Value &value, const char *kind) {
    StringRef name = ::keyOf(value);
    if (name.empty() || timesUsed.lookup(name) > 1 || !isUtf8(name)) {
      skipped.insert(&value);
      return std::nullopt;
    }
    return Json{{"kind", kind}, {"target", name.str()}};
  }
  static StringRef keyOf(const Value &value) { return ::keyOf(value); }

  /// An operator's number says nothing of its subgraph, so it is for the first one only. Elsewhere the first output
  /// stands for the operator.
  std::optional<Json> keyOf(const OperatorMetrics &row) {
    if (row.op->subgraph()->index == 0)
      return Json{{"kind", "node"}, {"identifier", std::to_string(row.op->index)}};
    const Value *output = row.op->result();
    return output ? keyOf(*output, "value") : std::nullopt;
  }

  void describe(const OperatorMetrics &row) {
    auto key = keyOf(row);
    if (!key)
      return;
    put(*key, "origin", originsText(report, row));
    if (!row.origins.empty()) {
      std::string ids;
      for (uint32_t id : row.origins)
        ids += (ids.empty() ? "" : " ") + std::to_string(id);
      put(*key, "origin.ids", ids);
    }
    if (auto passes = model.passLists.get(row.op->passes); !passes.empty())
      put(*key, "pass", llvm::join(passes, "; "));
    if (!row.op->wide->empty())
      put(*key, "origin.wide", row.op->wide->str());
  }

  void describeValues() {
    for (const TensorMetrics &row : report.metrics.tensors) {
      const Value &value = *row.value;
      if (value.relations.empty())
        continue;
      const Relation &relation = value.relations.front();
      const origin::SourceTensor *source = report.imported.lineage.source->findTensor(relation.tensor);
      auto key = source ? keyOf(value, row.isConstant ? "tensor" : "value") : std::nullopt;
      if (!key)
        continue;
      put(*key, "source.tensor", source->name.empty() ? std::to_string(relation.tensor) : source->name);
      if (relation.steps)
        put(*key, "source.changed", true);
    }
  }

  void tensor(const TensorMetrics &row) {
    auto key = keyOf(*row.value, row.isConstant ? "tensor" : "value");
    if (!key)
      return;
    put(*key, "bytes", row.bytes);
    if (!row.statistics)
      return;
    const Statistics &s = *row.statistics;
    put(*key, "parameters", row.parameters);
    if (s.elements)
      put(*key, "sparsity", double(s.zeros) / double(s.elements));
    if (s.blocks)
      put(*key, "block_sparsity", double(s.zeroBlocks) / double(s.blocks));
    if (s.finite)
      for (auto [name, figure] : {std::pair("min", s.min), {"max", s.max}, {"mean", s.mean}, {"std", s.std}})
        if (std::isfinite(figure))
          put(*key, name, figure);
    if (s.nans)
      put(*key, "nan", s.nans);
    if (s.infinities)
      put(*key, "inf", s.infinities);
  }
};

} // namespace

size_t report::writeNetron(const MetricsReport &report, llvm::raw_ostream &os) { return Attachment(report).write(os); }
