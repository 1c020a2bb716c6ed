#include "report/infer/InferredMap.h"

#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

/// What an earlier map said, and still holds.
namespace origo::report {

using namespace origin;

/// What a tensor was said to be as well, and the source computes the same numbers for.
void InferredMap::keepRelations(const Value &value, const FoundTensor &known, TensorRow &row) {
  const TensorRow *was = earlier ? earlier->rowOf(value) : nullptr;
  if (!was || !known.executed || !known.steps.empty())
    return;
  const RealTensor *numbers = search.numbersOfSource(*known.source);
  for (const MapRelation &one : was->relations) {
    const Value *other = one.tensor < sourceValues.size() ? sourceValues[one.tensor] : nullptr;
    if (!other || other == known.source || !one.steps.empty() || !isStoredAlike(*other, *known.source))
      continue;
    const RealTensor *same = search.numbersOfSource(*other);
    if (!numbers || !same || same->shape != numbers->shape || same->numbers != numbers->numbers)
      continue;
    row.relations.push_back({one.tensor, row.relations.front().steps, false});
    liveTensors[one.tensor].emplace_back(value.subgraph()->index, value.index);
  }
}

/// A constant that nothing leads to still comes from where it came from, if its bytes are those that it had.
void InferredMap::keepConstant(const Value &value, TensorRow &row) {
  const TensorRow *was = earlier && earlier->hasSameBytes() && value.isConstant() ? earlier->rowOf(value) : nullptr;
  auto exists = [&](uint32_t id) { return id < liveTensors.size(); };
  if (!was || was->tensors.empty() || !llvm::all_of(was->tensors, exists))
    return;
  row.tensors = was->tensors;
  row.operators = was->operators;
  llvm::erase_if(row.operators, [&](uint32_t id) { return id >= folded.size(); });
  for (uint32_t id : row.operators)
    folded[id].emplace_back(value.subgraph()->index, value.index);
  row.reason = "approximated";
  for (uint32_t id : row.tensors)
    liveTensors[id].emplace_back(value.subgraph()->index, value.index);
}

/// Is it what it was said to be, or none of the source, as was said?
bool InferredMap::isAsSaid(const Value &value) const {
  const TensorRow *was = earlier->rowOf(value);
  const FoundTensor *known = claimed(value);
  return was && (known ? earlier->relates(value, *known->source) : was->relations.empty());
}

/// The row that an operator had, if all that it is given and makes is what it was: constants have a say in what it
/// makes.
const OperatorRow *InferredMap::keptRow(const Operator &op) const {
  const OperatorRow *was = earlier ? earlier->rowOf(op) : nullptr;
  auto exists = [&](uint32_t id) { return id < carried.size(); };
  auto holds = [&](const Value *value) { return !value || isAsSaid(*value); };
  bool all = was && llvm::all_of(was->origins, exists) && (!was->origins.empty() || !was->syntheticReason.empty()) &&
             llvm::all_of(op.results(), holds) && llvm::all_of(op.operands(), [&](const Use &use) {
               return !use.get() || use.get()->isConstant() || holds(use.get());
             });
  return all ? was : nullptr;
}

} // namespace origo::report
