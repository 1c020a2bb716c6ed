#include "report/join/SourceNames.h"

#include "report/join/Kinds.h"

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

void SourceNames::list() {
  listed = true;
  for (const SourceSubgraph &graph : map->source.subgraphs)
    for (uint32_t i = 0; i < graph.operators.size(); ++i) {
      const SourceOperator &op = graph.operators[i];
      if (op.layer && !op.layer->name.empty())
        byName[op.layer->name].push_back(graph.firstOperator + i);
      for (int32_t id : op.tensors)
        if (const SourceTensor *tensor = id < 0 ? nullptr : map->source.findTensor(uint32_t(id)))
          if (!tensor->name.empty())
            byResult[std::string(tensor->name)].push_back(graph.firstOperator + i);
    }
  for (uint32_t g = 0; g < map->target.subgraphs.size(); ++g)
    for (uint32_t i = 0; i < map->target.subgraphs[g].operators.size(); ++i)
      for (uint32_t id : map->target.subgraphs[g].operators[i].origins)
        places[id].push_back({g, i});
}

bool SourceNames::match(JoinedRow &row) {
  if (!map)
    return false;
  if (!listed)
    list();
  auto single = [&](const auto &index, StringRef name) -> std::optional<uint32_t> {
    auto found = index.find(std::string_view(name));
    return found != index.end() && found->second.size() == 1 ? std::optional(found->second.front()) : std::nullopt;
  };
  // A file that the runtime optimised before it wrote it has names with the runtime's additions.
  const SharedText &sourceName = row.row.details().sourceName;
  auto whole = single(byName, row.row.rawName), named = whole ? whole : single(byName, sourceName);
  auto id = named ? named : single(byResult, sourceName);
  if (!id)
    return false;
  const SourceOperator &op = *map->source.findOperator(*id);
  StringRef type = op.customCode.str().empty() ? StringRef(op.op.str()) : StringRef(op.customCode.str());
  const std::string kind = plainKind(row.row.kind);
  bool same = plainKind(type.substr(type.rfind('.') + 1)) == kind ||
              (type == "WHILE" && (kind == "loop" || kind == "scan")); // as circle writes these
  same &= whole || row.row.rawName == sourceName;                      // what has another name may have taken others in
  auto found = places.find(*id);
  if (found == places.end() && !(named && same))
    return false;
  if (found != places.end())
    for (auto [subgraph, index] : found->second)
      if (subgraph == found->second.front().first) { // a row is about one
        row.subgraph = subgraph;
        row.operators.push_back(index);
      }
  if (named && same) {
    row.source = id;
    row.match = Match::Exact;
    return true;
  }
  // Of several that became one there.
  bool agrees =
      row.operators.size() == 1 &&
      agreement(row.row.kind, map->target.findOperator(row.subgraph, row.operators[0])->op.str()) == Agreement::Agrees;
  row.match = agrees ? Match::Tensor : Match::Approx;
  return true;
}
