#include "report/infer/Search.h"

#include "eval/RealNumbers.h"
#include "ir/Activation.h"
#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

#include <cmath>

/// Which constants of the source those of the result are.
namespace origo::report {

using namespace eval;

/// A number that depends on what numbers are there, and not on their order.
static uint64_t contentOf(const RealTensor &tensor) {
  uint64_t sum = tensor.numbers.size();
  for (float x : tensor.numbers) {
    uint64_t bits = llvm::bit_cast<uint32_t>(x == 0 ? 0.0f : x) + 0x9E3779B97F4A7C15u;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    sum += bits ^ bits >> 31;
  }
  return sum;
}

/// Constants that hold no numbers, texts for one.
static bool hasBytesOf(const Value &a, const Value &b) {
  return a.isConstant() && b.isConstant() && a.type == b.type && !a.sparsity() && !b.sparsity() &&
         a.payload().bytes() == b.payload().bytes();
}

const RealTensor *InferSearch::own(const Value &constant) {
  auto known = ownConstants.find(&constant);
  if (known == ownConstants.end())
    known = ownConstants.emplace(&constant, RealTensor::ofConstant(constant)).first;
  return known->second ? &*known->second : nullptr;
}

const RealTensor *InferSearch::numbersOfSource(const Value &value) const {
  auto known = numbers.find(&value);
  if (known == numbers.end()) {
    if (!value.isConstant())
      return nullptr;
    known = numbers.emplace(&value, RealTensor::ofConstant(value)).first;
  }
  return known->second ? &*known->second : nullptr;
}

void InferSearch::indexConstants() {
  constantsIndexed = true;
  for (auto &graph : source.subgraphs)
    for (const Value *value : graph->values)
      if (value->isConstant())
        if (const RealTensor *tensor = numbersOfSource(*value); tensor && !tensor->flat)
          constants.emplace(contentOf(*tensor), value);
}

FoundTensor &InferSearch::take(const Value &constant, const Value &candidate, std::vector<Step> steps) {
  FoundTensor &known = found[&constant];
  known.source = &candidate;
  known.steps = std::move(steps);
  known.executed = true;
  return known;
}

bool InferSearch::findAmong(const Value &constant, llvm::ArrayRef<const Value *> candidates, bool scaled,
                            bool saturates) {
  const RealTensor *mine = own(constant);
  Slack slack = roundingOf(constant);
  llvm::SmallVector<const Value *, 32> order(candidates.begin(), candidates.end());
  auto rank = [&](const Value *value) { return 2 * isSaid(constant, *value) + isStoredAlike(*value, constant); };
  llvm::stable_sort(order, [&](const Value *a, const Value *b) { return rank(a) > rank(b); });
  for (const Value *candidate : order) {
    const RealTensor *from = numbersOfSource(*candidate);
    if (!from || from->numbers.size() != mine->numbers.size())
      continue;
    Slack allowed = slack;
    if (from->quantum > 0 && !isStoredAlike(*candidate, constant)) // rounded there, and not here
      allowed.absolute += 0.501 * from->quantum;
    // What it cannot hold is the nearest that it can; but so are many others.
    auto held = saturates ? from->clampedTo(*mine) : std::nullopt;
    // What was folded in another order is off in the last digits, and that is no scale.
    if (scaled)
      allowed.absolute += 1e-6 * mine->most;
    auto steps = stepsBetween(held ? *held : *from, *mine, allowed);
    if (scaled && !steps) {
      allowed.absolute -= 1e-6 * mine->most;
      steps = scaledStepsBetween(*from, *mine, allowed);
    }
    if (!steps)
      continue;
    FoundTensor &known = take(constant, *candidate, std::move(*steps));
    known.exact = known.steps.empty() && isStoredAlike(*candidate, constant) &&
                  std::equal(from->numbers.begin(), from->numbers.end(), mine->numbers.begin());
    known.slack = scaled && slack.byChannel.empty() && slack.absolute == 0 ? 1e-6 : scaled ? 2e-3 : 0;
    return true;
  }
  return false;
}

/// Is it one of these times −1, where there are too few numbers to find a factor by?
bool InferSearch::findNegated(const Value &constant, llvm::ArrayRef<const Value *> candidates) {
  RealTensor turned = *own(constant);
  for (float &number : turned.numbers)
    number = -number;
  for (const Value *candidate : candidates) {
    const RealTensor *from = numbersOfSource(*candidate);
    auto steps = from ? stepsBetween(*from, turned, roundingOf(constant)) : std::nullopt;
    if (!steps)
      continue;
    Step &step = steps->emplace_back();
    step.kind = Step::Affine;
    step.scale = Step::Term::of(-1.0);
    take(constant, *candidate, std::move(*steps));
    return true;
  }
  return false;
}

/// Is it one of these, repeated along dimensions that have one place there?
bool InferSearch::findSpread(const Value &constant, llvm::ArrayRef<const Value *> candidates) {
  const RealTensor &mine = *own(constant);
  Slack slack = roundingOf(constant);
  for (const Value *candidate : candidates) {
    const RealTensor *from = numbersOfSource(*candidate);
    if (!from || from->numbers.empty() || from->numbers.size() >= mine.numbers.size() ||
        from->shape.size() > mine.shape.size())
      continue;
    auto steps = spreadBetween(*from, mine, slack);
    if (!steps)
      continue;
    take(constant, *candidate, std::move(*steps)).isSpread = true;
    return true;
  }
  return false;
}

void InferSearch::findConstant(const Operator &op, unsigned operand, const Nearby &near) {
  const Value &constant = *constantBehind(op.operand(operand));
  auto known = found.find(&constant);
  if (known != found.end() && known->second.source) {
    // Who stores it otherwise was there before it was found.
    if (const Value *used = op.operand(operand); used != &constant && !find(*used)->source) {
      FoundTensor same = known->second;
      same.exact = false;
      found[used] = std::move(same);
    }
    return;
  }
  findNewConstant(op, operand, near, constant);
  known = found.find(&constant);
  if (known != found.end() && known->second.source && op.operand(operand) != &constant)
    findConstant(op, operand, near);
}

void InferSearch::findNewConstant(const Operator &op, unsigned operand, const Nearby &near, const Value &constant) {
  const RealTensor *mine = own(constant);
  if (!mine)
    return;
  // The same operand of the same kind of operator first, then any that is read near.
  llvm::SmallVector<const Value *, 16> first, others;
  for (const Operator *user : near.operators)
    for (unsigned i = 0; i < user->numOperands(); ++i)
      if (const Value *value = user->operand(i); value && !dependsOnInputs(*value))
        addOnce(isSameKind(*user, op) && i == operand ? first : others, value, 32);
  if (near.operators.empty()) // nothing else is known of a graph of constants
    for (const Value *value : source.subgraphs[0]->values)
      if (value->isConstant())
        addOnce(others, value, 32);
  if (findAmong(constant, first, false))
    return;
  if (findAmong(constant, others, false))
    return;
  if (findSpread(constant, first))
    return;
  // What was taken away is added.
  llvm::SmallVector<const Value *, 4> takenAway;
  if (op.code == BuiltinOperator::ADD)
    for (const Operator *user : near.operators)
      if (user->code == BuiltinOperator::SUB && user->operand(1) && !dependsOnInputs(*user->operand(1)))
        addOnce(takenAway, user->operand(1), 4);
  if (findNegated(constant, takenAway))
    return;
  if (!mine->flat && mine->numbers.size() > 1) {
    if (!constantsIndexed)
      indexConstants();
    llvm::SmallVector<const Value *, 4> equal;
    auto [begin, end] = constants.equal_range(contentOf(*mine));
    for (auto it = begin; it != end && equal.size() < 4; ++it)
      equal.push_back(it->second);
    if (findAmong(constant, equal, false))
      return;
    if (findAmong(constant, first, true) || findAmong(constant, others, true))
      return;
  }
}

/// Constants that are no real numbers (axes, shapes, indices), and those that look like many others.
void InferSearch::findListed(const Operator &op, const Operator &like) {
  if (isSameKind(op, like) && op.intermediates().size() == like.intermediates().size())
    for (auto [mine, theirs] : llvm::zip(op.intermediates(), like.intermediates()))
      if (mine && theirs && !find(*mine))
        found[mine].source = theirs;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *mine = op.operand(i);
    if (!mine || !mine->isConstant())
      continue;
    const FoundTensor *known = find(*mine);
    if (known && known->source && (known->exact || !own(*mine) || !own(*mine)->flat))
      continue;
    const Value *theirs = isSameKind(op, like) ? like.operand(i) : nullptr;
    if (theirs && dependsOnInputs(*theirs))
      continue;
    if (theirs && own(*mine))
      findAmong(*mine, {theirs}, false, true);
    else if (theirs && hasBytesOf(*mine, *theirs)) {
      FoundTensor &same = found[mine];
      same.source = theirs;
      same.executed = same.exact = true;
    }
  }
}

} // namespace origo::report
