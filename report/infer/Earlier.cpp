#include "report/infer/Earlier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace origo::report {

using namespace origin;

namespace {

/// What a row is found again by; several of one graph with the same are found by nobody.
std::string keyOf(const OperatorRow &row) {
  bool named = llvm::any_of(row.outputs, [](const std::string &name) { return !name.empty(); });
  return named ? llvm::StringRef(row.op).str() + '\n' + llvm::StringRef(row.customCode).str() + '\n' +
                     llvm::join(row.outputs, "\n")
               : "";
}
std::string keyOf(const TensorRow &row) { return row.name.empty() ? "" : (row.constant ? "c" : "v") + row.name; }

template <class Row, class Pair>
void pairRows(const std::vector<Row> &before, const std::vector<Row> &now, bool byPlace, Pair pair) {
  if (byPlace) {
    for (uint32_t i = 0; i < std::min(before.size(), now.size()); ++i)
      pair(i, i);
    return;
  }
  constexpr int64_t several = -1;
  auto index = [](const std::vector<Row> &rows) {
    llvm::StringMap<int64_t> byKey;
    for (auto [i, row] : llvm::enumerate(rows))
      if (std::string key = keyOf(row); !key.empty())
        if (auto [at, isNew] = byKey.try_emplace(key, static_cast<int64_t>(i)); !isNew)
          at->second = several;
    return byKey;
  };
  auto there = index(before);
  for (const auto &entry : index(now))
    if (auto at = there.find(entry.first()); at != there.end() && at->second != several && entry.second != several)
      pair(static_cast<uint32_t>(at->second), static_cast<uint32_t>(entry.second));
}

} // namespace

EarlierMap::EarlierMap(const OriginMap &map, const Listing &source, const Target &target)
    : map(map), source(source), sameBytes(map.target.content == target.content) {
  const bool byPlace = map.target.fingerprint == target.fingerprint;
  for (uint32_t g = 0; g < std::min(map.target.subgraphs.size(), target.subgraphs.size()); ++g) {
    auto into = [g](Rows &rows) {
      return [g, &rows](uint32_t before, uint32_t now) {
        rows.before[{g, now}] = {g, before};
        rows.now[{g, before}] = {g, now};
      };
    };
    const TargetSubgraph &before = map.target.subgraphs[g], &now = target.subgraphs[g];
    pairRows(before.operators, now.operators, byPlace, into(operators));
    pairRows(before.tensors, now.tensors, byPlace, into(tensors));
    // Constants of the same bytes are in the same order, whatever they are called.
    auto constantsOf = [](const TargetSubgraph &rows) {
      std::vector<uint32_t> places;
      for (auto [i, row] : llvm::enumerate(rows.tensors))
        if (row.constant)
          places.push_back(static_cast<uint32_t>(i));
      return places;
    };
    auto were = constantsOf(before), are = constantsOf(now);
    sameBytes &= were.size() == are.size();
    if (sameBytes)
      for (auto [was, is] : llvm::zip(were, are))
        into(tensors)(was, is);
  }
}

const OperatorRow *EarlierMap::rowOf(const Operator &op) const {
  auto at = operators.before.find({op.subgraph()->index, op.index});
  return at == operators.before.end() ? nullptr : map.target.findOperator(at->second.first, at->second.second);
}

const TensorRow *EarlierMap::rowOf(const Value &value) const {
  auto at = tensors.before.find({value.subgraph()->index, value.index});
  return at == tensors.before.end() ? nullptr : map.target.findTensor(at->second.first, at->second.second);
}

bool EarlierMap::relates(const Value &value, const Value &tensor) const {
  const TensorRow *row = rowOf(value);
  uint32_t id = source.subgraphs[tensor.subgraph()->index].firstTensor + tensor.index;
  return row && llvm::any_of(row->relations, [&](const MapRelation &one) { return one.tensor == id; });
}

const MapLedgerRow *EarlierMap::fateOf(bool isTensor, uint32_t id) const {
  auto at = llvm::partition_point(
      map.ledger, [&](const MapLedgerRow &row) { return std::pair(row.isTensor, row.id) < std::pair(isTensor, id); });
  return at != map.ledger.end() && at->isTensor == isTensor && at->id == id ? &*at : nullptr;
}

} // namespace origo::report
