#include "origin/check/Context.h"

/// Law 9. Whether a run was asked to do nothing is written nowhere; but where source and written file are the same, no
/// map but the identity is true. One pass may have taken something apart and another put it together again: `passes`
/// names both, and what they computed need not be exact.
using namespace origo;
using namespace origo::origin;

static bool isIdentity(const TensorRow &row, uint32_t id, bool retrained, bool rewritten) {
  if (row.constant && retrained) // relations of constants were dropped, rightly
    return true;
  if (row.constant && !(row.tensors.size() == 1 && row.tensors[0] == id && row.operators.empty()))
    return false;
  if (row.constant && rewritten && row.relations.empty() && !row.expression.empty())
    return true; // taken apart and put together again by what no steps say
  return !row.relations.empty() && row.relations[0].tensor == id && row.relations[0].steps.empty() &&
         (row.relations[0].exact || (rewritten && !row.constant));
}

void origin::checkIdentity(CheckContext &context) {
  const OriginMap &map = context.map;
  const FileGraph &target = context.target;
  if (map.source.fingerprint != map.target.fingerprint || (map.source.content != map.target.content && !map.retrained))
    return;
  Report &report = context.report;
  const std::string but = ", but source and written file are the same";
  bool rewritten = false;
  for (uint32_t op = 0; op < target.operators.size(); ++op) {
    const OperatorRow *row = context.operatorRow[op];
    rewritten |= row && !row->passes.empty();
    if (row && (row->origins.size() != 1 || row->origins[0] != op || row->passes.size() == 1 ||
                !row->syntheticReason.empty() || !row->wide.empty() || !row->calls.empty()))
      report.add(9, [&] { return context.writtenOperator(op) + " is not its own and only origin" + but; });
  }
  for (uint32_t tensor = 0; tensor < target.tensors.size(); ++tensor)
    if (const TensorRow *row = context.tensorRow[tensor]; row && !isIdentity(*row, tensor, map.retrained, rewritten))
      report.add(9, [&] { return context.writtenTensor(tensor) + " is not first of all related to itself" + but; });
  for (size_t g = 0; g < map.target.subgraphs.size(); ++g)
    if (const auto &from = map.target.subgraphs[g].source; from.size() != 1 || from[0] != g)
      report.add(9, [&] { return "subgraph " + std::to_string(g) + " does not come from itself" + but; });
  if (!map.ledger.empty())
    report.add(9, [&] { return "the ledger has " + std::to_string(map.ledger.size()) + " rows" + but; });
}
