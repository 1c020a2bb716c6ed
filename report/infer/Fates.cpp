#include "report/infer/InferredMap.h"

#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

/// What became of what is gone.
namespace origo::report {

using namespace origin;

void InferredMap::ledger() {
  // What no output of the source needs, and no effect.
  llvm::DenseSet<const Operator *> needed;
  llvm::SmallVector<const Operator *> pending;
  auto need = [&](const Operator *op) {
    if (op && needed.insert(op).second)
      pending.push_back(op);
  };
  for (auto &graph : source.subgraphs) {
    for (const Value *output : graph->outputs)
      need(output->producer());
    for (const Operator &op : graph->operators)
      if (op.effects())
        need(&op);
  }
  while (!pending.empty())
    for (const Use &use : pending.pop_back_val()->operands())
      if (use.get())
        need(use.get()->producer());

  std::vector<Way> ways(map.source.operatorCount());
  auto insert = [&](bool isTensor, uint32_t id, const Way &way) {
    MapLedgerRow row;
    row.isTensor = isTensor;
    row.id = id;
    row.fate = way.fate;
    row.operators = way.operators;
    row.tensors = way.tensors;
    map.ledger.push_back(std::move(row));
  };
  for (auto &graph : source.subgraphs)
    for (const Operator &op : graph->operators) {
      uint32_t id = idOf(op);
      if (!carried[id].empty())
        continue;
      ways[id] = wayOf(op, needed.contains(&op));
      keepWay(false, id, ways[id]);
      insert(false, id, ways[id]);
    }
  for (auto &graph : source.subgraphs) {
    std::vector<const Value *> byIndex(map.source.subgraphs[graph->index].tensors.size());
    for (const Value *value : graph->values)
      if (value->index < byIndex.size())
        byIndex[value->index] = value;
    for (auto [i, value] : llvm::enumerate(byIndex)) {
      uint32_t id = map.source.subgraphs[graph->index].firstTensor + static_cast<uint32_t>(i);
      if (!liveTensors[id].empty())
        continue;
      Way way = value ? wayOf(*value, ways) : Way();
      keepWay(true, id, way);
      insert(true, id, way);
    }
  }
}

/// A constant that only states shapes, which are known without it, and that nothing comes from any more: whoever
/// had it does without it.
bool InferredMap::isNotNeeded(const Value &value, llvm::ArrayRef<const Operator *> users) const {
  auto isStatic = [](const Value *each) { return !each || each->isStatic(); };
  return value.isConstant() && !value.isGraphOutput() && !value.otherUses &&
         llvm::all_of(users, [&](const Operator *user) {
           const OperatorInfo *info = user->info();
           bool statesShape = info != nullptr;
           for (unsigned i = 0; statesShape && i < user->numOperands(); ++i)
             statesShape = isStatic(user->operand(i)) &&
                           (user->operand(i) != &value || (i < info->operands.size() && info->operands[i].statesShape));
           return statesShape && llvm::all_of(user->results(), isStatic);
         });
}

/// What became of something was seen when it was rewritten, and is so still where all that it went into is there.
void InferredMap::keepWay(bool isTensor, uint32_t id, Way &way) const {
  const MapLedgerRow *was = keepsFates ? earlier->fateOf(isTensor, id) : nullptr;
  constexpr llvm::StringLiteral elsewhere[] = {"cancelled", "inlined", "user-removed", "elsewhere", "unknown"};
  if (!was || llvm::is_contained(elsewhere, llvm::StringRef(was->fate)))
    return;
  Way before{was->fate.str()};
  for (const Place &place : was->operators)
    if (auto now = earlier->operatorNow(place))
      before.operators.push_back(*now);
  for (const Place &place : was->tensors)
    if (auto now = earlier->tensorNow(place))
      before.tensors.push_back(*now);
  if (before.operators.size() == was->operators.size() && before.tensors.size() == was->tensors.size())
    way = std::move(before);
}

InferredMap::Way InferredMap::wayOf(const Operator &op, bool needed) const {
  if (!needed)
    return {"dead"};
  Way way;
  const Value *to = op.result(), *from = op.operand(0);
  for (const Use &use : op.operands())
    if (use.get() && search.dependsOnInputs(*use.get()) && !(from && search.dependsOnInputs(*from)))
      from = use.get();
  if (!to)
    return way;
  if (!search.dependsOnInputs(*to)) {
    // Folded, if a constant says so; else into what comes of it.
    way.tensors = folded[idOf(op)];
    way.tensors.resize(std::min<size_t>(way.tensors.size(), 4));
    if (!op.customCode().empty()) // who knows what it does besides
      way.tensors.clear();
    if (!way.tensors.empty())
      way.fate = "folded-to-constant";
    return way;
  }
  const RealTensor *a = from ? search.numbersOfSource(*from) : nullptr, *b = search.numbersOfSource(*to);
  if (a && b && a->numbers.size() == b->numbers.size() && onlyMoves(op)) {
    way.tensors = liveTensors[idOf(*to)].empty() ? liveTensors[idOf(*from)] : liveTensors[idOf(*to)];
    if (!way.tensors.empty())
      way.fate = storesOtherwise(op)                                ? "quantization-cancelled"
                 : a->shape == b->shape && a->numbers == b->numbers ? "identity"
                                                                    : "layout-cancelled";
    way.tensors.resize(std::min<size_t>(way.tensors.size(), 4));
    return way;
  }
  if (a && b && a->shape == b->shape && a->numbers == b->numbers && !liveTensors[idOf(*from)].empty()) {
    way.fate = "identity";
    way.tensors = liveTensors[idOf(*from)];
    way.tensors.resize(std::min<size_t>(way.tensors.size(), 4));
    return way;
  }
  // The same of the same is computed elsewhere.
  const Operator *same = nullptr;
  size_t looked = 0;
  if (from)
    from->forEachUse([&](const Use &use) {
      const Operator *other = use.user();
      if (same || ++looked > 64 || other == &op || !isSameKind(op, *other) || !other->result() ||
          carried[idOf(*other)].empty())
        return;
      const RealTensor *c = search.numbersOfSource(*other->result());
      if (b && c && b->shape == c->shape && b->numbers == c->numbers)
        same = other;
    });
  if (same) {
    way.fate = "duplicate-of";
    way.operators = carried[idOf(*same)];
    way.operators.resize(std::min<size_t>(way.operators.size(), 4));
  }
  return way;
}

InferredMap::Way InferredMap::wayOf(const Value &value, const std::vector<Way> &ways) const {
  bool used = value.isGraphOutput() || value.isGraphInput || value.otherUses;
  llvm::SmallVector<const Operator *, 4> users;
  value.forEachUse([&](const Use &use) {
    used = true;
    if (users.size() < 16)
      users.push_back(use.user());
  });
  const Operator *maker = value.producer();
  if (!used)
    return {maker && ways[idOf(*maker)].fate == "dead" ? "dead" : "unused-in-source"};
  Way way;
  if (maker && carried[idOf(*maker)].empty() && ways[idOf(*maker)].fate != "unknown")
    return ways[idOf(*maker)];
  if (users.size() < 16 && isNotNeeded(value, users) &&
      llvm::any_of(users, [&](const Operator *user) { return !carried[idOf(*user)].empty(); })) {
    noteUnneeded(value, users);
    return {"dead"};
  }
  if (maker) {
    // Between operators that are one now.
    for (const Place &place : carried[idOf(*maker)])
      if (llvm::any_of(users, [&](const Operator *user) { return llvm::is_contained(carried[idOf(*user)], place); }))
        way.operators.push_back(place);
    if (way.operators.empty())
      way.operators = tradedPlaces(*maker, users);
    if (!way.operators.empty())
      way.fate = "fused-away";
    else if (carried[idOf(*maker)].size() > 1) {
      way.fate = "decomposed";
      way.operators = carried[idOf(*maker)];
    }
  } else {
    // A constant, or what is given: it went where its users went.
    for (const Operator *user : users)
      llvm::append_range(way.operators, carried[idOf(*user)]);
    if (!way.operators.empty())
      way.fate = "fused-away";
    else
      for (const Operator *user : users)
        if (ways[idOf(*user)].fate != "unknown")
          return ways[idOf(*user)];
  }
  llvm::sort(way.operators);
  way.operators.erase(std::unique(way.operators.begin(), way.operators.end()), way.operators.end());
  way.operators.resize(std::min<size_t>(way.operators.size(), 4));
  return way;
}

/// Where one of the two that it was between only moves data, they may have traded places, and both are there.
std::vector<InferredMap::Place> InferredMap::tradedPlaces(const Operator &maker,
                                                          llvm::ArrayRef<const Operator *> users) const {
  constexpr size_t most = 3;
  std::vector<Place> places;
  if (!onlyMoves(maker) && llvm::none_of(users, [](const Operator *user) { return onlyMoves(*user); }))
    return places;
  for (const Operator *user : users)
    for (const Place &place : carried[idOf(*user)])
      if (places.size() < most)
        places.push_back(place);
  if (places.empty() || carried[idOf(maker)].empty())
    return {};
  places.push_back(carried[idOf(maker)].front());
  return places;
}

void InferredMap::noteUnneeded(const Value &value, llvm::ArrayRef<const Operator *> users) const {
  llvm::SmallPtrSet<const Operator *, 8> seen;
  for (const Operator *user : users)
    for (unsigned i = 0, end = seen.insert(user).second ? user->numOperands() : 0; i < end; ++i)
      if (user->operand(i) == &value)
        map.unneeded.push_back({true, idOf(value), idOf(*user), i, "shape-only"});
}

} // namespace origo::report
