#include "report/viewer/Viewers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::report;
using Json = nlohmann::ordered_json;
using llvm::StringRef;

std::string report::jsonText(StringRef text) {
  return Json(text.str()).dump(-1, ' ', false, Json::error_handler_t::replace);
}

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
StringRef keyOf(const Value &value) { return value.name.text().split('\n').first; }

class Attachment {
public:
  Attachment(const MetricsReport &report, llvm::raw_ostream &os)
      : report(report), model(*report.imported.model), os(os) {
    for (auto &graph : model.subgraphs)
      for (const Value *value : graph->values)
        ++timesUsed[keyOf(*value)];
  }

  size_t write() {
    os << "{\"signature\":\"netron:attachment\",\n\"metadata\":[";
    for (const OperatorMetrics &row : report.metrics.operators)
      describe(row);
    describeValues();
    os << "],\n\"metrics\":[";
    separator = "\n";
    figures(R"({"kind":"model","target":"")", report.metrics.figures);
    for (const SubgraphMetrics &row : report.metrics.subgraphs)
      if (auto name = nameOf(*row.graph))
        figures(R"({"kind":"graph","target":)" + jsonText(*name), row.figures);
    for (const OperatorMetrics &row : report.metrics.operators)
      if (auto key = keyOf(row))
        figures(*key, row.figures, row.op->subgraph()->index ? "operator." : ""); // beside the output's own
    for (const TensorMetrics &row : report.metrics.tensors)
      tensor(row);
    os << "]}\n";
    return skipped.size();
  }

private:
  const MetricsReport &report;
  const Model &model;
  llvm::raw_ostream &os;
  llvm::StringMap<unsigned> timesUsed;
  llvm::DenseSet<const Value *> skipped;
  const char *separator = "\n";

  /// `key` is the beginning of the item. There are millions of items, so no tree of them is built.
  void put(StringRef key, const llvm::Twine &name, const llvm::Twine &value) {
    os << separator << key << ",\"name\":\"" << name << "\",\"value\":" << value << '}';
    separator = ",\n";
  }

  void figures(StringRef key, const Figures &figures, StringRef prefix = "") {
    for (const Metric &metric : allMetrics())
      if (std::string value = metric.text(figures); !value.empty())
        put(key, prefix + metric.name, value);
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

  std::optional<std::string> keyOf(const Value &value, const char *kind) {
    StringRef name = ::keyOf(value);
    if (name.empty() || timesUsed.lookup(name) > 1 || !isUtf8(name)) {
      skipped.insert(&value);
      return std::nullopt;
    }
    return (R"({"kind":")" + llvm::Twine(kind) + R"(","target":)" + jsonText(name)).str();
  }
  static StringRef keyOf(const Value &value) { return ::keyOf(value); }

  /// An operator's number says nothing of its subgraph, so it is for the first one only. Elsewhere the first output
  /// stands for the operator.
  std::optional<std::string> keyOf(const OperatorMetrics &row) {
    if (row.op->subgraph()->index == 0)
      return R"({"kind":"node","identifier":")" + std::to_string(row.op->index) + '"';
    const Value *output = row.op->result();
    return output ? keyOf(*output, "value") : std::nullopt;
  }

  void describe(const OperatorMetrics &row) {
    auto key = keyOf(row);
    if (!key)
      return;
    put(*key, "origin", jsonText(originsText(report, row)));
    if (!row.origins.empty()) {
      std::string ids;
      for (uint32_t id : row.origins)
        ids += (ids.empty() ? "" : " ") + std::to_string(id);
      put(*key, "origin.ids", '"' + ids + '"');
    }
    if (auto passes = model.passLists.get(row.op->passes); !passes.empty())
      put(*key, "pass", jsonText(llvm::join(passes, "; ")));
    if (!row.op->wide().empty())
      put(*key, "origin.wide", jsonText(row.op->wide()));
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
      put(*key, "source.tensor", jsonText(source->name.empty() ? std::to_string(relation.tensor) : source->name.str()));
      if (relation.steps)
        put(*key, "source.changed", "true");
    }
  }

  void tensor(const TensorMetrics &row) {
    auto key = keyOf(*row.value, row.isConstant ? "tensor" : "value");
    if (!key)
      return;
    put(*key, "bytes", llvm::Twine(row.bytes));
    if (!row.statistics)
      return;
    const Statistics &s = *row.statistics;
    put(*key, "parameters", llvm::Twine(row.parameters));
    if (s.elements)
      put(*key, "sparsity", shortest(double(s.zeros) / double(s.elements)));
    if (s.blocks)
      put(*key, "block_sparsity", shortest(double(s.zeroBlocks) / double(s.blocks)));
    if (s.finite)
      for (auto [name, figure] : {std::pair("min", s.min), {"max", s.max}, {"mean", s.mean}, {"std", s.std}})
        if (std::isfinite(figure))
          put(*key, name, shortest(figure));
    if (s.nans)
      put(*key, "nan", llvm::Twine(s.nans));
    if (s.infinities)
      put(*key, "inf", llvm::Twine(s.infinities));
  }
};

} // namespace

size_t report::writeNetron(const MetricsReport &report, llvm::raw_ostream &os) {
  return Attachment(report, os).write();
}
