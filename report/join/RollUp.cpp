#include "report/Scopes.h"
#include "report/join/Print.h"

#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

namespace {

std::vector<RolledUp> byFallingTime(const std::map<std::string, uint64_t> &times) {
  std::vector<RolledUp> lines;
  for (const auto &[key, ns] : times)
    lines.push_back({.key = key, .ns = ns});
  llvm::stable_sort(lines, [](const RolledUp &a, const RolledUp &b) { return a.ns > b.ns; });
  return lines;
}

/// What is of no source operator has lines too, so that those of level 1 add up to the total.
std::vector<RolledUp> timesByScope(const Join &join, const MapNames &names) {
  Scopes scopes;
  for (const SourceSubgraph &graph : names.map.source.subgraphs)
    for (const SourceOperator &op : graph.operators)
      scopes.add(names.nameOf(op));
  std::map<std::pair<std::string, unsigned>, uint64_t> times;
  for (auto [id, ns] : timeByOperator(join))
    for (ScopeLine &line : scopes.linesOf(names.nameOf(*names.sourceOperator(id))))
      times[{std::move(line.key), line.level}] += ns;
  if (join.synthetic)
    times[{"(synthetic)", 1}] = join.synthetic;
  if (join.unattributed)
    times[{"(unattributed)", 1}] = join.unattributed;
  std::vector<RolledUp> lines;
  for (const auto &[line, ns] : times)
    lines.push_back({.key = line.first, .level = line.second, .ns = ns});
  llvm::stable_sort(lines, [](const RolledUp &a, const RolledUp &b) { return a.ns > b.ns; });
  return lines;
}

std::vector<RolledUp> byPass(const Join &join, const MapNames &names, const Join *source) {
  struct Work {
    std::set<std::pair<uint32_t, uint32_t>> written;
    std::set<uint32_t> source;
    uint64_t ns = 0;
  };
  std::map<std::string, Work> passes;
  for (const JoinedRow &row : join.rows) {
    std::set<std::string> ofRow;
    for (uint32_t index : row.operators)
      if (const OperatorRow *op = names.writtenOperator(row.subgraph, index); op && row.row.isSummed())
        for (const Word &pass : op->passes) {
          Work &work = passes[pass.str()];
          work.written.insert({row.subgraph, index});
          work.source.insert(op->origins.begin(), op->origins.end());
          ofRow.insert(pass.str());
        }
    for (const std::string &pass : ofRow)
      passes[pass].ns += row.ns;
  }
  std::map<uint32_t, uint64_t> before;
  if (source)
    before = timeByOperator(*source);
  std::vector<RolledUp> lines;
  for (const auto &[pass, work] : passes) {
    lines.push_back({.key = pass, .ns = work.ns, .written = work.written.size(), .source = work.source.size()});
    if (!source)
      continue;
    lines.back().sourceNs = 0;
    for (uint32_t id : work.source)
      if (auto time = before.find(id); time != before.end())
        *lines.back().sourceNs += time->second;
  }
  llvm::stable_sort(lines, [](const RolledUp &a, const RolledUp &b) { return a.ns > b.ns; });
  return lines;
}

} // namespace

std::vector<RolledUp> report::rollUp(const Join &join, const MapNames &names, By by, const Join *source) {
  if (by == By::Pass)
    return byPass(join, names, source);
  if (by == By::Scope)
    return timesByScope(join, names);
  std::vector<RolledUp> lines;
  std::map<std::string, uint64_t> times;
  for (auto [id, ns] : timeByOperator(join)) {
    const SourceOperator &op = *names.sourceOperator(id);
    const SourceFrame *frame = names.map.source.frameOf(op);
    if (by == By::Operator)
      lines.push_back({.key = names.nameOf(op).str(), .id = id, .ns = ns});
    else if (by == By::Line || by == By::File)
      times[!frame           ? "(no line)"
            : by == By::Line ? names.map.source.lineOf(*frame)
                             : names.map.source.files[frame->file]] += ns;
    else
      times[op.op.str() + (op.customCode.empty() ? "" : ":" + op.customCode.str())] += ns;
  }
  return by == By::Operator ? lines : byFallingTime(times);
}
