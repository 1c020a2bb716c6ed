#include "view/PageWriter.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::view {

using namespace report;
using llvm::StringRef;

void PageWriter::totals() {
  os << ",\n\"meanings\":{";
  const char *separator = "";
  for (const Metric &metric : allMetrics()) {
    os << separator << '"' << metric.name << "\":" << jsonText(metric.meaning);
    separator = ",";
  }
  os << '}';
  auto of = [&](StringRef name, const PageModel &model) {
    os << ",\n\"" << name << "\":{\"operators\":\"" << model.metrics->operators.size() << '"';
    for (const Metric &metric : allMetrics())
      os << ",\"" << metric.name << "\":\"" << metric.text(model.metrics->figures) << '"';
    os << '}';
  };
  of("resultTotals", contents.result);
  if (contents.source)
    of("sourceTotals", *contents.source);
  if (!contents.map)
    return;
  column("scopes",
         byScope(*contents.result.metrics,
                 contents.isGuessed ? *contents.result.imported->lineage.source : contents.map->source),
         [&](const ScopeMetrics &row) {
           os << '[' << row.scope.level << ',' << id(row.scope.key) << ',' << row.sum.macs << ',' << row.sum.sparseMacs
              << ',' << row.sum.operations << ',' << row.sum.parameters << ',' << row.sum.bytes << ',';
           if (row.sum.ownMacs)
             os << *row.sum.ownMacs;
           else
             os << "null";
           os << ']';
         });
}

void PageWriter::profiles() {
  column("profiles", contents.profiles, [&](const PageProfile &profile) {
    const Join &join = profile.join;
    os << "{\"file\":" << id(profile.file) << ",\"tool\":" << id(join.tool) << ",\"total\":" << join.total
       << ",\"attributed\":" << join.attributed << ",\"synthetic\":" << join.synthetic
       << ",\"unattributed\":" << join.unattributed;
    column("rows", join.rows, [&](const JoinedRow &row) {
      os << '[' << id(row.row.rawName) << ',' << id(matchName(row.match)) << ',' << row.subgraph << ',';
      numbers(row.operators);
      os << ',' << row.ns << ",[";
      llvm::interleave(
          row.shares, os, [&](auto share) { os << share.first << ',' << share.second; }, ",");
      os << "]," << row.synthetic << ',' << row.unattributed << ',' << id(row.row.metric) << ',' << row.row.count << ','
         << id(row.row.backend) << ']';
    });
    os << '}';
  });
}

void PageWriter::errors() {
  column("errors", contents.errors, [&](const TensorError &row) {
    os << '[' << row.tensor;
    for (auto &[name, value] : row.figures)
      os << ',' << id(name) << ',' << shortest(value);
    os << ']';
  });
}

void PageWriter::target() {
  if (contents.targetName.empty())
    return;
  os << ",\n\"target\":{\"name\":" << id(contents.targetName);
  column("rows", contents.unsupported, [&](const Violation &row) {
    os << '[' << row.subgraph << ',';
    if (row.op)
      os << row.op->index;
    else
      os << "null";
    os << ',' << id(row.operand) << ',' << id(row.rule) << ',' << id(row.expected) << ',' << id(row.actual) << ']';
  });
  os << '}';
}

void PageWriter::proof() {
  if (!contents.proof || !contents.map)
    return;
  const Proof &proof = *contents.proof;
  os << ",\n\"proof\":{\"withSource\":" << (proof.withSource ? "true" : "false") << ",\"source\":\""
     << origin::hex(contents.map->source.fingerprint) << "\",\"result\":\""
     << origin::hex(contents.map->target.fingerprint) << '"';
  column("violations", proof.violations,
         [&](const origin::Violation &row) { os << '[' << row.law << ',' << jsonText(row.text) << ']'; });
  column("skipped", proof.skipped, [&](const std::string &text) { os << jsonText(text); });
  os << '}';
}

} // namespace origo::view
