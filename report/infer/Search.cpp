#include "report/infer/Search.h"

#include "eval/RealNumbers.h"
#include "ir/Activation.h"
#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

#include <cmath>

namespace origo::report {

using namespace eval;

/// Is it an operator of the same kind that makes this tensor, up to what is fused?
static bool isMadeAlike(const Operator &op, const Value &candidate) {
  const Operator *maker = candidate.producer();
  if (!maker)
    return false;
  auto activation = activationOf(op);
  if (isActivation(*maker, activation))
    return true;
  return isSameKind(op, *maker) && activation == activationOf(*maker);
}

std::optional<RealTensor> InferSearch::numbersFor(const Value &value) {
  auto known = found.find(&value);
  if (known != found.end() && known->second.source && !known->second.isSpread) {
    const RealTensor *from = numbersOfSource(*known->second.source);
    if (!from)
      return std::nullopt;
    llvm::ArrayRef<int32_t> shape(value.shape.begin(), value.shape.end());
    return applied(*from, known->second.steps,
                   known->second.steps.empty() ? llvm::ArrayRef<int32_t>(from->shape) : shape);
  }
  if (value.isConstant()) {
    const RealTensor *mine = own(value);
    return mine ? std::optional(*mine) : std::nullopt;
  }
  return known == found.end() ? std::nullopt : known->second.numbers;
}

double InferSearch::slackFor(const RealTensor &made, const RealTensor &want, bool asStored, double loose) const {
  double most = std::max(made.most, want.most);
  if (asStored && want.quantum > 0)
    return 0.01 * want.quantum + loose * most;
  return 3e-5 * most + 1.01 * want.quantum + loose * most;
}

llvm::SmallVector<bool, 2> InferSearch::modesOf(const Operator &op) const {
  bool alike = true, quantized = false;
  for (const Use &use : op.operands())
    if (const Value *value = use.get(); value && isReal(*value)) {
      const FoundTensor *known = find(*value);
      alike &= known && known->source && isStoredAlike(*known->source, *value);
      quantized |= !isFloat(value->type);
    }
  for (const Value *value : op.results())
    quantized |= value && isReal(*value) && !isFloat(value->type);
  if (storesOtherwise(op) || isHybrid(op) || !quantized)
    return {false};
  if (alike)
    return {true, false};
  return {false};
}

std::optional<std::vector<std::optional<RealTensor>>> InferSearch::computed(const Operator &op, bool asStored,
                                                                            double &loose) {
  std::vector<std::optional<RealTensor>> held(op.numOperands());
  llvm::SmallVector<const RealTensor *> given;
  loose = 0;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    if (value) {
      held[i] = numbersFor(*value);
      const FoundTensor *known = find(*value);
      if (const Value *constant = constantBehind(value); constant && isReal(*constant)) {
        if (known && known->source)
          loose += known->slack;
        else if (held[i] && held[i]->numbers.size() > 1 && bitsPerElement(constant->type).value_or(32) < 32)
          loose += unknownConstant;
      }
    }
    given.push_back(held[i] ? &*held[i] : nullptr);
  }
  return execute(op, given, asStored);
}

/// Is it made of nothing else than what is given, and nobody's yet?
bool InferSearch::isMadeAtOnce(const Value &candidate, const Nearby &near) const {
  auto starts = llvm::ArrayRef(near.tensors).take_front(near.starts);
  return candidate.producer() && claims.lookup(&candidate) == 0 &&
         llvm::all_of(candidate.producer()->operands(), [&](const Use &use) {
           return !use.get() || !dependsOnInputs(*use.get()) || llvm::is_contained(starts, use.get());
         });
}

bool InferSearch::choose(const Operator &op, const Value &value, const RealTensor &whole, const Nearby &near,
                         bool asStored, double loose) {
  struct Candidate {
    int score;
    const Value *value;
    std::vector<Step> steps;
  };
  constexpr unsigned mostCompared = 24;
  constexpr int notAlike = 16;
  std::optional<Candidate> best;
  llvm::SmallVector<const Value *, 2> equals;
  const bool moves = onlyMoves(op);
  unsigned compared = 0;
  for (const Value *candidate : near.tensors) {
    const RealTensor *want = numbersOfSource(*candidate);
    if (!want || want->numbers.size() != whole.numbers.size())
      continue;
    auto clamped = whole.clampedTo(*want);
    const RealTensor &made = clamped ? *clamped : whole;
    double slack = slackFor(made, *want, asStored, loose);
    auto size = static_cast<double>(made.numbers.size());
    if (std::fabs(made.most - want->most) > slack ||
        std::fabs(made.squares - want->squares) > 2 * slack * std::sqrt(size * std::max(made.squares, want->squares)) +
                                                      size * slack * slack + 1e-6 * made.squares)
      continue;
    bool alike = isMadeAlike(op, *candidate), sameShape = made.shape == want->shape;
    int score = 32 * !sameShape + notAlike * !alike + 8 * !isSaid(value, *candidate) +
                4 * (!moves && claims.lookup(candidate) > 0) + !isStoredAlike(*candidate, value);
    if (best && best->score + 4 < score)
      continue;
    // What is the same everywhere is told apart by who makes it, or by what it is made of.
    if (want->flat && !alike && candidate->producer() && (!moves || !sameShape) && !isMadeAtOnce(*candidate, near))
      continue;
    if (++compared > mostCompared)
      break;
    Slack allowed;
    allowed.absolute = slack;
    auto steps = stepsBetween(*want, made, allowed);
    if (!steps)
      continue;
    score += 32 * (sameShape && !steps->empty());
    if (best && steps == best->steps && score + 4 >= best->score)
      equals.push_back(score < best->score ? best->value : candidate);
    if (!best || score < best->score)
      best = Candidate{score, candidate, std::move(*steps)};
  }
  FoundTensor &known = found[&value];
  if (!best)
    return false;
  if (known.source)
    --claims[known.source];
  const RealTensor &want = *numbersOfSource(*best->value);
  known.source = best->value;
  known.steps = std::move(best->steps);
  known.equals = std::move(equals);
  known.executed = loose < unknownConstant; // else what has been executed has a constant that nobody knows
  known.numbers.reset();
  known.exact = known.steps.empty() && isStoredAlike(*best->value, value) &&
                std::equal(whole.numbers.begin(), whole.numbers.end(), want.numbers.begin()) &&
                best->value->producer() && isSameKind(op, *best->value->producer()) &&
                llvm::all_of(op.operands(), [&](const Use &use) {
                  const FoundTensor *operand = use.get() ? find(*use.get()) : nullptr;
                  return !use.get() || !isReal(*use.get()) || (operand && operand->exact);
                });
  ++claims[best->value];
  return (best->score & notAlike) == 0;
}

void InferSearch::become(FoundTensor &known, const Value &other) {
  llvm::erase(known.equals, &other);
  known.equals.push_back(known.source);
  --claims[known.source];
  known.source = &other;
  known.exact = false;
  ++claims[&other];
}

/// What an operator is given may be one of several tensors that are equal: it is the one that leads to what it makes.
void InferSearch::repair(const Operator &op) {
  constexpr unsigned farthest = 256, around = 8;
  llvm::SmallVector<const Operator *, 4> pending{&op};
  for (unsigned done = 0; !pending.empty() && done < farthest; ++done) {
    const Operator *at = pending.pop_back_val();
    const FoundTensor *made = at->result() ? find(*at->result()) : nullptr;
    if (!made || !made->source || !made->source->producer())
      continue;
    // What lies right in front of it in the source.
    llvm::SmallVector<const Value *, 16> front;
    addOnce(front, made->source, 32);
    for (size_t i = 0, operators = 0; i < front.size() && operators < around; ++i)
      if (const Operator *maker = front[i]->producer()) {
        ++operators;
        for (const Use &use : maker->operands())
          if (use.get())
            addOnce(front, use.get(), 32);
      }
    for (const Use &use : at->operands()) {
      auto known = use.get() ? found.find(use.get()) : found.end();
      if (known == found.end() || !known->second.source || llvm::is_contained(front, known->second.source))
        continue;
      auto other =
          llvm::find_if(known->second.equals, [&](const Value *value) { return llvm::is_contained(front, value); });
      if (other == known->second.equals.end())
        continue;
      become(known->second, **other);
      if (use.get()->producer())
        pending.push_back(use.get()->producer());
    }
  }
}

void InferSearch::visit(const Operator &op) {
  llvm::SmallVector<const Value *, 8> starts;
  constexpr size_t mostStarts = 16;
  bool any = false;
  for (const Use &use : op.operands())
    if (const Value *value = use.get(); value && !constantBehind(value))
      if (const FoundTensor *known = find(*value)) {
        any = true;
        if (known->source)
          addOnce(starts, known->source, mostStarts);
        else
          for (const Value *start : known->starts)
            addOnce(starts, start, mostStarts);
      }
  // What hangs on constants alone begins at those of the source.
  if (!any)
    for (unsigned i = 0; i < op.numOperands(); ++i)
      if (const Value *value = op.operand(i); value && value->isConstant()) {
        findConstant(op, i, {});
        if (const FoundTensor *known = find(*value); known && known->source)
          addOnce(starts, known->source, mostStarts);
      }
  Nearby near = nearby(starts, op);
  if (starts.empty() && !any)
    for (const Operator *free : withoutOperands)
      if (free->subgraph() == paired.lookup(op.subgraph()) && near.operators.size() < mostNearby) {
        near.operators.push_back(free);
        for (const Value *value : free->results())
          if (value)
            near.tensors.push_back(value);
      }
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *value = op.operand(i); constantBehind(value) && isReal(*value))
      findConstant(op, i, near);
  if (mayRescale)
    findRescaledConstants(op, near.operators, {});
  for (const Value *value : op.results())
    if (value) {
      FoundTensor &known = found[value];
      known = {};
      known.starts.assign(starts.begin(), starts.end());
    }
  // Of what it is given there may be several that are equal, and another one may lead to what it makes.
  std::optional<Nearby> others;
  auto nearOthers = [&]() -> const Nearby & {
    if (others)
      return *others;
    llvm::SmallVector<const Value *, 32> equal;
    for (const Use &use : op.operands())
      if (const FoundTensor *known = use.get() ? find(*use.get()) : nullptr; known && known->source)
        for (const Value *value : known->equals)
          addOnce(equal, value, 32);
    // Constants lead to their users, too.
    for (const Use &use : op.operands())
      if (const FoundTensor *known = use.get() && use.get()->isConstant() ? find(*use.get()) : nullptr;
          known && known->source && usersOf(*known->source).all.size() <= 4)
        addOnce(equal, known->source, 32);
    return others.emplace(nearby(equal, op));
  };
  bool ran = false;
  for (bool asStored : modesOf(op)) {
    double loose = 0;
    auto results = computed(op, asStored, loose);
    if (!results)
      continue;
    // What is no number (complex ones, texts) is found by structure.
    ran |= llvm::any_of(*results, [](const auto &made) { return made.has_value(); }) || op.results().empty();
    for (auto [value, made] : llvm::zip(op.results(), *results)) {
      if (!value || !made || found[value].source)
        continue;
      bool alike = choose(op, *value, *made, near, asStored, loose);
      if (!alike && !nearOthers().operators.empty()) {
        FoundTensor before = found[value];
        bool better = choose(op, *value, *made, nearOthers(), asStored, loose);
        if (better || !before.source)
          repair(op);
        else if (found[value].source != before.source) {
          --claims[found[value].source];
          ++claims[before.source];
          found[value] = std::move(before);
        }
      }
      if (mayRescale && !found[value].source)
        chooseRescaled(op, *value, *made, near, loose);
      if (const Value *source = found[value].source; source && source->producer())
        findListed(op, *source->producer());
      FoundTensor &known = found[value];
      if (!known.source) {
        known.numbers = std::move(*made);
      } else if (!otherNumbers && hasOthersConstant(op, *known.source)) {
        // Constants that make little difference tell one from the other.
        auto other = llvm::find_if(known.equals, [&](const Value *equal) {
          return equal->producer() && isSameKind(op, *equal->producer()) && !hasOthersConstant(op, *equal);
        });
        if (other != known.equals.end()) {
          become(known, **other);
          continue;
        }
        known.assumed = true;
        blame(op, *known.source->producer(), 0, numbersOfSource(*known.source)->most,
              "has a constant that is not the source's");
      }
    }
    if (llvm::all_of(op.results(), [&](const Value *value) { return !value || found[value].source; }))
      break;
  }
  const bool isOther =
      otherNumbers && llvm::any_of(op.results(), [&](const Value *value) { return value && !found[value].source; });
  if (!ran || isOther) {
    chooseByStructure(op, near);
    return;
  }
  for (const Value *value : op.results())
    if (const FoundTensor *known = value ? find(*value) : nullptr; known && known->source && known->source->producer())
      findListed(op, *known->source->producer());
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *value = op.operand(i); value && value->isConstant() && !isReal(*value))
      findConstant(op, i, near);
  // What moves a part of a tensor is that part.
  const Value *value = op.result();
  const FoundTensor *from = op.operand(0) ? find(*op.operand(0)) : nullptr;
  for (unsigned i = 1; (!from || !from->source) && i < op.numOperands(); ++i)
    from = op.operand(i) && !op.operand(i)->isConstant() ? find(*op.operand(i)) : from;
  if (value && !found[value].source && onlyMoves(op) && !storesOtherwise(op) && from && from->source &&
      from->steps.empty()) {
    const RealTensor *whole = numbersOfSource(*from->source);
    std::vector<const RealTensor *> given(op.numOperands());
    std::optional<RealTensor> places;
    unsigned moving = 0;
    if (whole && whole->numbers.size() < (1 << 24)) {
      places = *whole;
      for (size_t i = 0; i < places->numbers.size(); ++i)
        places->numbers[i] = static_cast<float>(i);
      for (unsigned i = 0; i < op.numOperands(); ++i)
        if (op.operand(i) && !op.operand(i)->isConstant()) {
          given[i] = &*places;
          ++moving;
        }
    }
    if (moving == 1)
      if (auto moved = execute(op, given, false))
        for (auto [part, at] : llvm::zip(op.results(), *moved))
          if (part && at && !found[part].source)
            if (auto steps = sliceBetween(whole->shape, *at, at->numbers)) {
              FoundTensor &known = found[part];
              known.source = from->source;
              known.steps = *steps;
              known.executed = true;
              known.numbers.reset();
            }
  }
}

void InferSearch::pairGraphs(const Subgraph &from, const Subgraph &to) {
  paired[&to] = &from;
  llvm::consumeError(pairInputs(from, to));
  for (const Operator &op : to.operators)
    visit(op);
  // What no operator reads is told by the outputs of the source.
  llvm::SmallVector<const Value *, 4> outputs;
  for (const Value *output : from.outputs)
    if (output->isConstant())
      addOnce(outputs, output, 64);
  for (const Value *output : to.outputs)
    if (output->isConstant() && own(*output) && !find(*output))
      findAmong(*output, outputs, false);
}

} // namespace origo::report
