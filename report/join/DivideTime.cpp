#include "report/join/Join.h"

#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using namespace origo::origin;

/// First among the operators that it may be about, and then each part among the origins of its operator.
static void divideMerged(JoinedRow &row, const OriginMap &map, SplitWeights &weights, Join &join) {
  std::map<uint32_t, uint64_t> shares;
  row.unattributed = 0;
  std::vector<uint64_t> parts = divide(row.ns, row.weights);
  for (auto [index, part] : llvm::zip(row.operators, parts)) {
    const OperatorRow &op = *map.target.findOperator(row.subgraph, index);
    if (op.origins.empty()) {
      (op.syntheticReason.empty() ? row.unattributed : row.synthetic) += part;
      continue;
    }
    std::vector<uint64_t> all;
    for (uint32_t id : op.origins)
      all.push_back(op.origins.size() == 1 ? 1 : weights.of(id, row.subgraph, index));
    for (auto [id, ns] : llvm::zip(op.origins, divide(part, all)))
      shares[id] += ns;
  }
  row.shares.assign(shares.begin(), shares.end());
  for (auto [id, ns] : row.shares)
    join.attributed += ns;
  join.synthetic += row.synthetic;
  join.unattributed += row.unattributed;
}

llvm::Error report::divideTime(Join &join, const OriginMap &map, SplitWeights &weights) {
  join.attributed = join.synthetic = join.unattributed = 0;
  for (JoinedRow &row : join.rows) {
    std::set<uint32_t> origins;
    size_t synthetic = 0;
    for (uint32_t index : row.operators) {
      const OperatorRow &op = *map.target.findOperator(row.subgraph, index);
      origins.insert(op.origins.begin(), op.origins.end());
      synthetic += op.origins.empty() && !op.syntheticReason.empty();
    }
    if (row.source) {
      origins = {*row.source};
      synthetic = 0;
    }
    row.origins.assign(origins.begin(), origins.end());
    for (uint32_t id : row.origins)
      if (!map.source.findOperator(id))
        return makeError("the origin map names source operator " + llvm::Twine(id) + ", and there are " +
                         llvm::Twine(map.source.operatorCount()) + "; origin-dump --check tells what else is wrong");
    if (!row.row.isSummed())
      continue;
    if (!row.weights.empty()) {
      divideMerged(row, map, weights, join);
      continue;
    }
    bool alone = row.origins.size() + synthetic == 1;
    std::vector<uint64_t> all;
    for (uint32_t id : row.origins)
      all.push_back(alone ? 1 : weights.of(id, row.subgraph, row.operators));
    all.resize(all.size() + synthetic, 1);
    if (!all.empty()) {
      std::vector<uint64_t> parts = divide(row.ns, all);
      row.unattributed = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i < row.origins.size())
          row.shares.emplace_back(row.origins[i], parts[i]);
        (i < row.origins.size() ? join.attributed : row.synthetic) += parts[i];
      }
    }
    join.synthetic += row.synthetic;
    join.unattributed += row.unattributed;
  }
  return llvm::Error::success();
}

std::map<uint32_t, uint64_t> report::timeByOperator(const Join &join) {
  std::map<uint32_t, uint64_t> times;
  for (const JoinedRow &row : join.rows)
    for (auto [id, ns] : row.shares)
      times[id] += ns;
  return times;
}
