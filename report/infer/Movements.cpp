#include "report/infer/InferredMap.h"

#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

/// What only moves data, and traded places or was undone.
namespace origo::report {

using namespace origin;

/// What moves data behind an operator may be what the source moves in front of it, which that one then does not do.
void InferredMap::takeMovement(const Subgraph &graph, const Operator &op, TargetSubgraph &rows) {
  OperatorRow &row = rows.operators[op.index];
  if (row.syntheticReason != "layout-bridge" || keptRow(op))
    return;
  using enum BuiltinOperator;
  auto isLike = [&](const Operator &other) {
    return op.code == TRANSPOSE ? other.code == TRANSPOSE
                                : llvm::is_contained({RESHAPE, SQUEEZE, EXPAND_DIMS}, other.code);
  };
  constexpr unsigned farthest = 4;
  const Value *at = op.operand(0);
  for (unsigned step = 0; step < farthest && at && at->producer(); ++step) {
    const Operator &maker = *at->producer();
    OperatorRow &other = rows.operators[maker.index];
    if (!onlyMoves(maker) && other.origins.size() > 1 && !keptRow(maker))
      for (uint32_t id : llvm::reverse(other.origins)) {
        const Operator *like = sourceOperator(id);
        if (!like || !isLike(*like))
          continue;
        row.origins = {id};
        row.syntheticReason = "";
        row.serves.clear();
        llvm::erase(other.origins, id);
        llvm::erase(carried[id], Place(graph.index, maker.index));
        carried[id].emplace_back(graph.index, op.index);
        return;
      }
    at = maker.operand(0);
  }
}

void InferredMap::leave(const Operator &movement, llvm::ArrayRef<const Operator *> operators, TargetSubgraph &rows) {
  uint32_t id = idOf(movement);
  for (const Place &place : carried[id])
    llvm::erase(rows.operators[place.second].origins, id);
  for (const Place &place : std::exchange(carried[id], {}))
    for (const Value *made : operators[place.second]->results()) {
      const FoundTensor *known = made ? claimed(*made) : nullptr;
      if (!known || known->source != movement.result() || !known->executed)
        continue;
      const RealTensor *from = search.numbersOfSource(*movement.operand(0)),
                       *to = search.numbersOfSource(*known->source);
      llvm::ArrayRef<int32_t> shape = known->steps.empty()
                                          ? llvm::ArrayRef<int32_t>(to->shape)
                                          : llvm::ArrayRef<int32_t>(made->shape.begin(), made->shape.end());
      auto there = applied(*to, known->steps, shape);
      auto steps = there ? stepsBetween(*from, *there, {}) : std::nullopt;
      if (!steps)
        continue;
      FoundTensor front;
      front.source = movement.operand(0);
      front.steps = std::move(*steps);
      uint32_t tensor = idOf(*front.source);
      rows.tensors[made->index].relations.push_back({tensor, MapSteps(stepsOf(*made, front)), false});
      liveTensors[tensor].emplace_back(place.first, made->index);
    }
}

/// Does it move all elements of its operand, and nothing else?
bool InferredMap::movesAll(const Operator &op) const {
  const Value *from = op.operand(0), *to = op.result();
  const RealTensor *a = from ? search.numbersOfSource(*from) : nullptr, *b = to ? search.numbersOfSource(*to) : nullptr;
  return a && b && onlyMoves(op) && !storesOtherwise(op) && op.results().size() == 1 && from->type == to->type &&
         search.dependsOnInputs(*from) && stepsBetween(*a, *b, {}).has_value();
}

/// Does one movement put back what the other one has moved? Of those that keep the order of elements, any does.
bool InferredMap::undoes(const Operator &a, const Operator &b) const {
  if (a.code != BuiltinOperator::TRANSPOSE || b.code != BuiltinOperator::TRANSPOSE)
    return a.code != BuiltinOperator::TRANSPOSE && b.code != BuiltinOperator::TRANSPOSE;
  const RealTensor *p = a.operand(1) ? search.numbersOfSource(*a.operand(1)) : nullptr,
                   *q = b.operand(1) ? search.numbersOfSource(*b.operand(1)) : nullptr;
  return p && q && p->numbers.size() == q->numbers.size() && llvm::all_of(llvm::enumerate(p->numbers), [&](auto at) {
           auto place = static_cast<size_t>(at.value());
           return place < q->numbers.size() && static_cast<size_t>(q->numbers[place]) == at.index();
         });
}

/// What moves data at an end of what operators do, and is no other's work, has been left out: what is in front of it
/// is what is behind it, in another order. From the ends of a cone inward.
void InferredMap::leaveMovements(const Subgraph &graph, TargetSubgraph &rows) {
  std::vector<const Operator *> operators(rows.operators.size());
  for (const Operator &op : graph.operators)
    operators[op.index] = &op;
  std::set<uint32_t> left, pending;
  for (const OperatorRow &row : rows.operators)
    for (uint32_t id : row.origins)
      if (const Operator *like = sourceOperator(id); row.origins.size() > 1 && like && movesAll(*like))
        pending.insert(id);
  for (size_t before = 0; before != left.size() || before == 0;) {
    before = left.size();
    for (uint32_t id : pending)
      if (!left.contains(id) && llvm::all_of(carried[id], [&](const Place &place) {
            return place.first == graph.index &&
                   isAtEnd(*operators[place.second], rows.operators[place.second], *sourceOperator(id), left);
          }))
        left.insert(id);
    if (before == left.size())
      break;
  }
  // What has no inverse there has not been undone, but worked into what it is next to.
  std::vector<uint32_t> undone;
  llvm::copy_if(left, std::back_inserter(undone), [&](uint32_t id) {
    auto isInverse = [&](uint32_t other) { return other != id && undoes(*sourceOperator(id), *sourceOperator(other)); };
    return changesNothing(*sourceOperator(id)) || llvm::any_of(left, isInverse) ||
           llvm::any_of(carried[id], [&](const Place &place) {
             return llvm::any_of(rows.operators[place.second].origins,
                                 [&](uint32_t other) { return pending.contains(other) && isInverse(other); });
           });
  });
  for (uint32_t id : undone)
    leave(*sourceOperator(id), operators, rows);
}

bool InferredMap::changesNothing(const Operator &movement) const {
  const RealTensor &from = *search.numbersOfSource(*movement.operand(0)),
                   &to = *search.numbersOfSource(*movement.result());
  return from.shape == to.shape && from.numbers == to.numbers;
}

/// Is a movement the first or the last of what an operator does, but for those that it leaves?
bool InferredMap::isAtEnd(const Operator &op, const OperatorRow &row, const Operator &movement,
                          const std::set<uint32_t> &left) const {
  auto works = [&](uint32_t id) {
    const Operator *like = sourceOperator(id);
    return like && !onlyMoves(*like);
  };
  if (onlyMoves(op) || keptRow(op) || !llvm::any_of(row.origins, works))
    return false;
  auto isLeft = [&](const Operator *other) { return other && left.contains(idOf(*other)); };
  auto isGiven = [&](const Value *value) {
    return llvm::any_of(op.operands(), [&](const Use &use) {
      return use.get() && llvm::is_contained(starts.lookup(use.get()), value);
    });
  };
  auto isMade = [&](const Value *value) {
    return llvm::any_of(op.results(), [&](const Value *made) {
      const FoundTensor *known = made ? claimed(*made) : nullptr;
      return known && known->source == value;
    });
  };
  const Value *from = movement.operand(0), *to = movement.result();
  for (unsigned step = 0; step < 8 && isLeft(from->producer()) && !isGiven(from); ++step)
    from = from->producer()->operand(0);
  if (isGiven(from))
    return true;
  for (unsigned step = 0; step < 8 && !isMade(to); ++step) {
    const Operator *next = nullptr;
    to->forEachUse([&](const Use &use) { next = !next && isLeft(use.user()) ? use.user() : next; });
    if (!next)
      return false;
    to = next->result();
  }
  return isMade(to);
}

} // namespace origo::report
