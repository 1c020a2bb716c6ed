#include "commands/Remarks.h"

#include "report/metrics/Metrics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace origo::commands {

namespace json = llvm::json;

void RemarkRecorder::attach(PipelineOptions &run) {
  run.onDecline = [this](const Operator &op, const Pass &pass, const Rule &rule, llvm::StringRef reason) {
    if (!rule.isOfSeveral()) // of the operator alone there is nothing to miss
      return;
    std::vector<Declined> &list = declined[&op];
    bool isKnown = llvm::any_of(list, [&](const Declined &other) {
      return other.pass == pass.name && other.rule == rule.name && other.reason == reason;
    });
    if (!isKnown && list.size() < most)
      list.push_back({pass.name, rule.name, reason.str()});
  };
  run.onRewrite = [this, before = std::move(run.onRewrite)](const RewriteEvent &event) {
    for (const Operator *op : event.created) // its memory may be that of one that is gone
      declined.erase(op);
    if (before)
      before(event);
  };
}

llvm::ArrayRef<RemarkRecorder::Declined> RemarkRecorder::of(const Operator &op) const {
  auto known = declined.find(&op);
  return known == declined.end() ? llvm::ArrayRef<Declined>() : llvm::ArrayRef(known->second);
}

namespace {

struct Remark {
  const Operator *op = nullptr;
  std::vector<uint32_t> origins;
  uint64_t macs = 0, ns = 0;
  std::string refused; ///< by the target, and why; empty: it is taken
  std::string mend;    ///< empty: none is known
};

std::string refusalText(const Operator &op, const report::Target &target) {
  std::string text;
  for (const report::Violation &one : report::checkOperator(op, target))
    if (one.rule == "ops")
      text = "the target has no " + op.opName();
    else
      text += (text.empty() ? "" : "; ") + (one.operand.empty() ? "" : printable(one.operand) + ": ") + one.rule +
              " is " + (one.actual.size() <= 80 ? one.actual : one.actual.substr(0, 77) + "...");
  return text.empty() && target.staticShapes && report::computedShape(op) ? "its shape is computed when it runs" : text;
}

/// Hottest first; of what is as hot, in the order of the file.
std::vector<Remark> remarksOf(const Remarks &from) {
  std::vector<Remark> all;
  Model &model = *from.imported.model;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      Remark remark;
      remark.op = &op;
      if (from.target)
        remark.refused = refusalText(op, *from.target);
      if (remark.refused.empty() && from.recorder.of(op).empty())
        continue;
      model.sets.forEach(op.origins, [&](uint32_t id) { remark.origins.push_back(id); });
      remark.macs = report::macsOf(op).value_or(0);
      if (from.times)
        for (uint32_t id : remark.origins)
          if (auto time = from.times->find(id); time != from.times->end())
            remark.ns += time->second;
      if (auto mend = from.mends.find({graph->index, op.index}); mend != from.mends.end())
        remark.mend = mend->second;
      all.push_back(std::move(remark));
    }
  llvm::stable_sort(all, [&](const Remark &a, const Remark &b) {
    return std::tuple(a.ns, a.macs, !a.refused.empty()) > std::tuple(b.ns, b.macs, !b.refused.empty());
  });
  return all;
}

std::string layerOf(const origin::Listing &source, uint32_t id) {
  const origin::SourceOperator *op = source.findOperator(id);
  return op ? std::string(source.nameOf(*op)) : "";
}

} // namespace

std::string remarksText(const Remarks &from) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Remark &remark : remarksOf(from)) {
    const Operator &op = *remark.op;
    if (from.times)
      os << llvm::format("%10.3f us  ", static_cast<double>(remark.ns) / 1e3);
    os << llvm::format("%12llu MACs  ", static_cast<unsigned long long>(remark.macs)) << op.opName() << " at "
       << op.subgraph()->index << ':' << op.index;
    for (auto [i, id] : llvm::enumerate(llvm::ArrayRef(remark.origins).take_front(4)))
      os << (i ? ", " : ", from ") << printable(layerOf(*from.imported.lineage.source, id), 60);
    if (remark.origins.size() > 4)
      os << " and " << remark.origins.size() - 4 << " more";
    os << '\n';
    if (!remark.refused.empty())
      os << "    refused: " << remark.refused << "; mended by: " << (remark.mend.empty() ? "none known" : remark.mend)
         << '\n';
    for (const RemarkRecorder::Declined &declined : from.recorder.of(op))
      os << "    " << declined.pass << " / " << declined.rule << " declined: " << printable(declined.reason, 200)
         << '\n';
  }
  return text.empty() ? "nothing was left undone that a rule or a target knows of\n" : text;
}

std::string remarksJson(const Remarks &from) {
  const origin::Listing &source = *from.imported.lineage.source;
  json::Array rows;
  for (const Remark &remark : remarksOf(from)) {
    const Operator &op = *remark.op;
    json::Array origins, layers, declined;
    for (uint32_t id : remark.origins) {
      origins.push_back(id);
      layers.push_back(json::fixUTF8(layerOf(source, id)));
    }
    for (const RemarkRecorder::Declined &one : from.recorder.of(op))
      declined.push_back(json::Object{{"pass", one.pass}, {"rule", one.rule}, {"reason", json::fixUTF8(one.reason)}});
    json::Object row{
        {"subgraph", op.subgraph()->index}, {"operator", op.index},        {"op", op.opName()},
        {"origins", std::move(origins)},    {"layers", std::move(layers)}, {"macs", static_cast<int64_t>(remark.macs)},
        {"declined", std::move(declined)}};
    if (from.times)
      row["ns"] = static_cast<int64_t>(remark.ns);
    if (!remark.refused.empty()) {
      row["refused"] = json::fixUTF8(remark.refused);
      row["mended_by"] = remark.mend.empty() ? json::Value(nullptr) : json::Value(json::fixUTF8(remark.mend));
    }
    rows.push_back(std::move(row));
  }
  json::Object all{{"format", "origo-remarks"},
                   {"version", 1},
                   {"source", json::fixUTF8(source.file)},
                   {"target", from.target ? json::Value(json::fixUTF8(from.target->name)) : json::Value(nullptr)},
                   {"remarks", std::move(rows)}};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", json::Value(std::move(all))) << '\n';
  return text;
}

} // namespace origo::commands
