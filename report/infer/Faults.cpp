#include "report/infer/Search.h"

#include "eval/RealNumbers.h"
#include "ir/Activation.h"
#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

#include <cmath>

/// What computes something else than the source, and what does not hold on another seed.
namespace origo::report {

using namespace eval;

/// Where an operator does what one of the source does, and no more, it has the same constants, whatever it makes of
/// these inputs.
bool InferSearch::hasOtherConstant(const Operator &op, const Operator &like) const {
  if (!isSameKind(op, like) || op.numOperands() != like.numOperands())
    return false;
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *mine = op.operand(i); mine && !constantBehind(mine)) {
      const FoundTensor *known = find(*mine);
      if (!known || !known->source || !like.operand(i) ||
          (known->source != like.operand(i) && !onlyStoredOtherwise(*known->source, *like.operand(i))))
        return false;
    }
  auto hasFactor = [&](const Value *value) {
    const FoundTensor *known = value && !constantBehind(value) ? find(*value) : nullptr;
    return known && isRescaled(*known);
  };
  const bool makesUp = llvm::any_of(op.results(), hasFactor) ||
                       llvm::any_of(op.operands(), [&](const Use &use) { return hasFactor(use.get()); });
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *mine = op.operand(i), *theirs = like.operand(i), *constant = constantBehind(mine);
    if (!constant || !isReal(*mine) || !theirs || dependsOnInputs(*theirs) ||
        mine->elementCount() != theirs->elementCount() || mine->elementCount() == 0 || !numbersOfSource(*theirs))
      continue;
    const FoundTensor *known = find(*constant);
    if (!known || !known->source || (isRescaled(*known) && !makesUp))
      return true;
  }
  return false;
}

/// The same of who makes a tensor of the source.
bool InferSearch::hasOthersConstant(const Operator &op, const Value &made) const {
  const Operator *like = made.producer();
  return like && activationOf(op) == activationOf(*like) && hasOtherConstant(op, *like);
}

void InferSearch::blame(const Operator &op, const Operator &like, double off, double range, const char *why) {
  uint32_t graph = op.subgraph()->index;
  if (first && (first->subgraph < graph || (first->subgraph == graph && first->index <= op.index)))
    return;
  first = InferDifference{graph, op.index, static_cast<int32_t>(like.index), off, range, why};
}

/// Where an output is not what the source computes: goes on behind the first operator that is to blame. False: there is
/// none.
bool InferSearch::resume(const Subgraph &graph) {
  // What is needed for outputs that are not related.
  llvm::DenseSet<const Value *> wanted;
  for (const Value *output : graph.outputs)
    if (const FoundTensor *known = output->isConstant() ? nullptr : find(*output); known && !known->source)
      wanted.insert(output);
  llvm::SmallVector<const Operator *> order;
  for (const Operator &op : graph.operators)
    order.push_back(&op);
  for (const Operator *op : llvm::reverse(order))
    if (llvm::any_of(op->results(), [&](const Value *value) {
          const FoundTensor *known = value ? find(*value) : nullptr;
          return value && wanted.contains(value) && known && !known->source;
        }))
      for (const Use &use : op->operands())
        if (use.get())
          wanted.insert(use.get());
  for (auto [i, op] : llvm::enumerate(order)) {
    const Value *value = op->result();
    const FoundTensor *known = value ? find(*value) : nullptr;
    if (!known || known->source || !known->numbers || !wanted.contains(value) || onlyMoves(*op))
      continue;
    Nearby near = nearby(known->starts, *op);
    const Operator *like = counterpart(*op, near);
    // What it should be is the nearest in numbers, else what an operator of its kind makes.
    const Value *should = like ? like->result() : nullptr;
    double nearest = 0.3;
    for (const Value *candidate : near.tensors) {
      const RealTensor *numbers = candidate->producer() ? numbersOfSource(*candidate) : nullptr;
      if (!numbers || numbers->flat || numbers->shape != known->numbers->shape ||
          llvm::is_contained(known->starts, candidate))
        continue;
      double off = 0;
      for (size_t k = 0; k < numbers->numbers.size(); ++k) {
        double difference = static_cast<double>(numbers->numbers[k]) - static_cast<double>(known->numbers->numbers[k]);
        off += difference * difference;
      }
      if (off = std::sqrt(off / std::max(numbers->squares, 1e-300)); off < nearest) {
        nearest = off;
        should = candidate;
      }
    }
    if (should && !like)
      like = should->producer();
    const RealTensor *want = should ? numbersOfSource(*should) : nullptr;
    if (!want || want->numbers.size() != known->numbers->numbers.size())
      continue;
    std::vector<Step> steps;
    if (want->shape != known->numbers->shape) {
      auto moved = stepsOfShapes(want->shape, known->numbers->shape);
      if (!moved)
        continue;
      steps = *moved;
    }
    auto there = applied(*want, steps, known->numbers->shape);
    if (!there)
      continue;
    double off = 0;
    for (size_t k = 0; k < there->numbers.size(); ++k)
      off = std::max(
          off, std::fabs(static_cast<double>(there->numbers[k]) - static_cast<double>(known->numbers->numbers[k])));
    blame(*op, *like, off, want->most, "computes something else");
    FoundTensor &wrong = found[value];
    wrong.source = should;
    wrong.steps = std::move(steps);
    wrong.assumed = true;
    wrong.numbers.reset();
    ++claims[should];
    for (const Operator *later : llvm::ArrayRef(order).drop_front(i + 1)) {
      bool open = false;
      for (const Value *result : later->results()) {
        const FoundTensor *other = result ? find(*result) : nullptr;
        open |= other && !other->source;
      }
      if (!open)
        continue;
      for (const Value *result : later->results())
        if (const FoundTensor *other = result ? find(*result) : nullptr; other && other->source)
          --claims[other->source];
      visit(*later);
    }
    return true;
  }
  return false;
}

/// Is what an operator has made what a tensor was said to be?
bool InferSearch::isStill(FoundTensor &known, const RealTensor &whole, bool asStored, double loose) {
  const RealTensor *from = numbersOfSource(*known.source);
  auto want = from ? applied(*from, known.steps, whole.shape) : std::nullopt;
  if (!want)
    return false;
  auto clamped = whole.clampedTo(*want);
  const RealTensor &made = clamped ? *clamped : whole;
  double slack = slackFor(made, *want, asStored, loose);
  bool exact = true;
  for (size_t k = 0; k < made.numbers.size(); ++k) {
    if (made.numbers[k] == want->numbers[k] || (std::isnan(made.numbers[k]) && std::isnan(want->numbers[k])))
      continue;
    exact = false;
    if (!(std::fabs(static_cast<double>(made.numbers[k]) - static_cast<double>(want->numbers[k])) <= slack))
      return false;
  }
  known.exact &= exact;
  return true;
}

bool InferSearch::holdsFor(const Operator &op, const std::vector<std::optional<RealTensor>> &results, bool asStored,
                           double loose) {
  for (auto [value, made] : llvm::zip(op.results(), results))
    if (value && made && found[value].source && found[value].executed && !found[value].assumed) {
      FoundTensor &known = found[value];
      bool exact = known.exact;
      if (!isStill(known, *made, asStored, loose)) {
        known.exact = exact;
        return false;
      }
    }
  return true;
}

/// What is none of the source may be made by its operator with another constant, though nothing comes of that.
void InferSearch::blameConstants(const Subgraph &graph) {
  for (const Operator &op : graph.operators) {
    const FoundTensor *known = op.result() ? find(*op.result()) : nullptr;
    if (!known || known->source || !known->numbers || onlyMoves(op))
      continue;
    if (const Operator *like = counterpart(op, nearby(known->starts, op)); like && hasOtherConstant(op, *like))
      blame(op, *like, 0, 0, "has a constant that is not the source's");
  }
}

void InferSearch::verify() {
  for (auto &graph : result.subgraphs) {
    if (!paired.contains(graph.get()))
      continue;
    for (const Operator &op : graph->operators) {
      bool asStored = false;
      double loose = 0;
      if (llvm::all_of(op.results(), [&](const Value *value) {
            const FoundTensor *known = value ? find(*value) : nullptr;
            return !known || (known->source && !known->executed);
          }))
        continue;
      std::optional<std::vector<std::optional<RealTensor>>> results;
      for (bool mode : modesOf(op)) {
        asStored = mode;
        results = computed(op, mode, loose);
        // The one by which it was found.
        if (results && holdsFor(op, *results, mode, loose))
          break;
      }
      for (auto [i, value] : llvm::enumerate(op.results())) {
        if (!value)
          continue;
        FoundTensor &known = found[value];
        if (known.assumed || (known.source && !known.executed))
          continue;
        if (!results || !(*results)[i]) {
          known.numbers.reset();
          known.executed = false;
          continue;
        }
        RealTensor &made = *(*results)[i];
        if (!known.source) {
          known.numbers = std::move(made);
          continue;
        }
        if (isStill(known, made, asStored, loose))
          continue;
        // It was so by chance, and nothing is claimed. What comes of it is judged by what the source has there.
        known.assumed = true;
        if (!otherNumbers && known.source->producer())
          blame(op, *known.source->producer(), 0, 0, "computes something else");
      }
    }
  }
}

} // namespace origo::report
