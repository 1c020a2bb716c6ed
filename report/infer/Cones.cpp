#include "report/infer/InferredMap.h"

#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

/// Where what is computed begins and ends in the source, and what lies between.
namespace origo::report {

using namespace origin;

/// Where what is computed begins and ends in the source, for tensors that are none of its.
void InferredMap::findEnds(const Subgraph &graph) {
  for (const Value *input : graph.inputs)
    if (const FoundTensor *known = claimed(*input))
      add(starts[input], known->source);
  llvm::SmallVector<const Operator *> order;
  for (const Operator &op : graph.operators) {
    order.push_back(&op);
    llvm::SmallVector<const Value *, 4> from;
    for (const Use &use : op.operands())
      if (use.get()) {
        if (const FoundTensor *known = claimed(*use.get()); known && use.get()->isConstant())
          add(starts[use.get()], known->source);
        for (const Value *start : llvm::SmallVector<const Value *, 4>(starts.lookup(use.get())))
          add(from, start);
      }
    for (const Value *value : op.results())
      if (value) {
        if (const FoundTensor *known = claimed(*value))
          starts[value] = {known->source};
        else
          starts[value] = from;
      }
  }
  for (const Operator *op : llvm::reverse(order)) {
    llvm::SmallVector<const Value *, 4> to;
    for (const Value *value : op->results())
      if (value) {
        if (const FoundTensor *known = claimed(*value))
          ends[value] = {known->source};
        for (const Value *end : ends.lookup(value))
          add(to, end);
      }
    for (const Use &use : op->operands())
      if (use.get())
        for (const Value *end : to)
          add(ends[use.get()], end);
  }
}

/// What a movement makes or is made of is as good a beginning.
void InferredMap::widen(llvm::SmallVectorImpl<const Value *> &from) const {
  for (const Value *value : llvm::SmallVector<const Value *, 8>(from.begin(), from.end())) {
    if (const Operator *maker = value->producer(); maker && onlyMoves(*maker) && maker->operand(0))
      add(from, maker->operand(0));
    size_t looked = 0;
    value->forEachUse([&](const Use &use) {
      if (++looked < 8 && onlyMoves(*use.user()) && use.user()->result())
        add(from, use.user()->result());
    });
  }
}

void InferredMap::add(llvm::SmallVectorImpl<const Value *> &list, const Value *value) {
  constexpr size_t most = 16;
  if (list.size() < most && !llvm::is_contained(list, value))
    list.push_back(value);
}

/// The operators of the source on a way from what is given to what is made. What depends on no input is none of them.
std::vector<uint32_t> InferredMap::cone(llvm::ArrayRef<const Value *> from, llvm::ArrayRef<const Value *> to,
                                        llvm::SmallVectorImpl<const Value *> &constants) const {
  const size_t most = 1024 + to.size();
  llvm::SmallPtrSet<const Value *, 16> stops(from.begin(), from.end());
  // Backward from the ends, as far as the beginnings.
  llvm::SmallVector<const Operator *> order;
  llvm::SmallPtrSet<const Operator *, 16> seen;
  auto reach = [&](const Value *value) {
    if (!value || stops.contains(value) || !value->producer() || !seen.insert(value->producer()).second)
      return;
    order.push_back(value->producer());
  };
  for (const Value *end : to)
    reach(end);
  for (size_t i = 0; i < order.size() && order.size() < most; ++i)
    for (const Use &use : order[i]->operands())
      reach(use.get());
  // Forward again: what the beginnings lead to. Operators have numbers in the order of execution.
  llvm::sort(order, [&](const Operator *a, const Operator *b) { return idOf(*a) < idOf(*b); });
  llvm::SmallPtrSet<const Operator *, 16> on;
  for (const Operator *op : order)
    if (llvm::any_of(op->operands(), [&](const Use &use) {
          const Value *value = use.get();
          return value && (stops.contains(value) || (value->producer() && on.contains(value->producer())));
        }))
      on.insert(op);
  std::vector<uint32_t> ids;
  for (const Operator *op : order) {
    if (!on.contains(op))
      continue;
    ids.push_back(idOf(*op));
    for (const Use &use : op->operands())
      if (use.get() && !search.dependsOnInputs(*use.get()))
        constants.push_back(use.get());
  }
  return ids;
}

/// A movement of the same kind that the source has between this and what is computed next.
const Operator *InferredMap::movementOf(const Operator &op, llvm::ArrayRef<const Value *> from,
                                        llvm::ArrayRef<uint32_t> done) const {
  llvm::SmallVector<const Value *, 8> next, unused;
  for (const Value *value : op.results())
    if (value)
      value->forEachUse([&](const Use &use) {
        for (const Value *result : use.user()->results())
          if (result && next.size() < 8)
            for (const Value *end : ends.lookup(result))
              add(next, end);
      });
  llvm::erase_if(next, [&](const Value *value) { return llvm::is_contained(from, value); });
  if (next.empty())
    return nullptr;
  for (uint32_t id : cone(from, next, unused)) {
    const Operator *like = sourceOperator(id);
    if (!like || !onlyMoves(*like))
      return nullptr;
    if (isSameKind(op, *like) && !llvm::is_contained(done, id))
      return like;
  }
  return nullptr;
}

} // namespace origo::report
