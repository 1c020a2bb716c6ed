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

bool onlyMoves(const Operator &op) {
  return storesOtherwise(op) || (op.info() && op.info()->has(Trait::DataMovement)) || op.code == BuiltinOperator::CAST;
}

bool isSameKind(const Operator &a, const Operator &b) {
  return a.builtinMeant() == b.builtinMeant() && a.customCode() == b.customCode();
}

namespace {

bool isActivation(const Operator &op, circle::ActivationFunctionType activation) {
  using enum circle::ActivationFunctionType;
  switch (activation) {
  case RELU:
    return op.code == BuiltinOperator::RELU;
  case RELU6:
    return op.code == BuiltinOperator::RELU6;
  case RELU_N1_TO_1:
    return op.code == BuiltinOperator::RELU_N1_TO_1;
  case TANH:
    return op.code == BuiltinOperator::TANH;
  default:
    return false;
  }
}

/// Is it an operator of the same kind that makes this tensor, up to what is fused?
bool isMadeAlike(const Operator &op, const Value &candidate) {
  const Operator *maker = candidate.producer();
  if (!maker)
    return false;
  auto activation = activationOf(op);
  if (isActivation(*maker, activation))
    return true;
  return isSameKind(op, *maker) && activation == activationOf(*maker);
}

/// A number that depends on what numbers are there, and not on their order.
uint64_t contentOf(const RealTensor &tensor) {
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
bool hasBytesOf(const Value &a, const Value &b) {
  return a.isConstant() && b.isConstant() && a.type == b.type && !a.sparsity() && !b.sparsity() &&
         a.payload().bytes() == b.payload().bytes();
}

bool addOnce(llvm::SmallVectorImpl<const Value *> &list, const Value *value, size_t most) {
  if (list.size() >= most || llvm::is_contained(list, value))
    return false;
  list.push_back(value);
  return true;
}

} // namespace

/// How far, in parts of the largest number, a result may be off by a constant of few bits that is none of the source.
static constexpr double unknownConstant = 0.01;

/// Is one made of the other by storing its numbers otherwise?
static bool onlyStoredOtherwise(const Value &a, const Value &b) {
  auto behind = [](const Value &value) {
    const Value *at = &value;
    for (unsigned step = 0; step < 4 && at->producer() && storesOtherwise(*at->producer()); ++step)
      at = at->producer()->operand(0);
    return at;
  };
  return behind(a) == behind(b);
}

/// A constant, also where an operator stores it otherwise before it is used.
static const Value *constantBehind(const Value *value) {
  if (value && value->producer() && storesOtherwise(*value->producer()))
    value = value->producer()->operand(0);
  return value && value->isConstant() ? value : nullptr;
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

const RealTensor *InferSearch::own(const Value &constant) {
  auto known = ownConstants.find(&constant);
  if (known == ownConstants.end())
    known = ownConstants.emplace(&constant, RealTensor::ofConstant(constant)).first;
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

const InferSearch::Users &InferSearch::usersOf(const Value &value) {
  std::unique_ptr<Users> &known = users[&value];
  if (known)
    return *known;
  known = std::make_unique<Users>();
  value.forEachUse([&](const Use &use) { known->all.push_back(use.user()); });
  llvm::sort(known->all, [](const Operator *a, const Operator *b) { return a->index < b->index; });
  known->all.erase(std::unique(known->all.begin(), known->all.end()), known->all.end());
  for (const Operator *user : llvm::reverse(known->all))
    known->byKind[{static_cast<int>(user->builtinMeant()), user->customCode()}].push_back(user);
  return *known;
}

InferSearch::Nearby InferSearch::nearby(llvm::ArrayRef<const Value *> given, const Operator &op) {
  constexpr size_t mostUsers = 16, mostAlike = 8;
  llvm::SmallVector<const Value *, 8> starts(given.begin(), given.end());
  llvm::stable_sort(starts,
                    [&](const Value *a, const Value *b) { return usersOf(*a).all.size() < usersOf(*b).all.size(); });
  Nearby near;
  llvm::SmallPtrSet<const void *, 32> seen;
  auto add = [&](const Operator *user) {
    if (!seen.insert(user).second)
      return;
    near.operators.push_back(user);
    for (const Value *value : user->results())
      if (value && seen.insert(value).second)
        near.tensors.push_back(value);
  };
  for (const Value *start : starts)
    if (seen.insert(start).second)
      near.tensors.push_back(start);
  near.starts = near.tensors.size();
  // Of many that use the same, those of its kind that nobody is yet.
  for (const Value *start : starts) {
    const Users &all = usersOf(*start);
    auto alike = all.all.size() <= mostUsers ? all.byKind.end()
                                             : all.byKind.find({static_cast<int>(op.builtinMeant()), op.customCode()});
    if (alike == all.byKind.end())
      continue;
    auto &list = const_cast<std::vector<const Operator *> &>(alike->second);
    while (list.size() > 1 && list.back()->result() && claims.lookup(list.back()->result()) > 0)
      list.pop_back();
    for (size_t i = 0; i < std::min(mostAlike, list.size()); ++i)
      add(list[list.size() - 1 - i]);
  }
  for (size_t i = 0; i < near.tensors.size() && near.operators.size() < mostNearby; ++i) {
    llvm::ArrayRef<const Operator *> all = usersOf(*near.tensors[i]).all;
    for (const Operator *user : all.take_front(mostUsers))
      if (near.operators.size() < mostNearby)
        add(user);
  }
  return near;
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
    FoundTensor &known = found[&constant];
    known.source = candidate;
    known.steps = std::move(*steps);
    known.executed = true;
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
    FoundTensor &known = found[&constant];
    known.source = candidate;
    known.steps = std::move(*steps);
    known.executed = true;
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
    FoundTensor &known = found[&constant];
    known.source = candidate;
    known.steps = std::move(*steps);
    known.executed = true;
    known.isSpread = true;
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
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *mine = op.operand(i), *theirs = like.operand(i), *constant = constantBehind(mine);
    if (!constant || !isReal(*mine) || !theirs || dependsOnInputs(*theirs) ||
        mine->elementCount() != theirs->elementCount() || mine->elementCount() == 0 || !numbersOfSource(*theirs))
      continue;
    const FoundTensor *known = find(*constant);
    if (!known || !known->source || llvm::any_of(known->steps, [](const Step &step) {
          return step.kind == Step::Affine || step.kind == Step::Scaled;
        }))
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

const Operator *InferSearch::counterpart(const Operator &op, const Nearby &near) const {
  const Operator *best = nullptr;
  size_t bestShared = 0;
  for (const Operator *candidate : near.operators) {
    if (!isSameKind(op, *candidate) || candidate->results().size() != op.results().size())
      continue;
    size_t shared = 1;
    for (unsigned i = 0; i < op.numOperands(); ++i) {
      const FoundTensor *known = op.operand(i) ? find(*op.operand(i)) : nullptr;
      if (known && known->source && known->source == candidate->operand(i))
        shared += 2;
    }
    if (candidate->result() && claims.lookup(candidate->result()) == 0)
      ++shared;
    if (shared > bestShared) {
      best = candidate;
      bestShared = shared;
    }
  }
  return best;
}

void InferSearch::pairCallees(const Operator &op, const Operator &like) {
  auto mine = op.callees(), theirs = like.callees();
  if (mine.size() != theirs.size())
    return;
  for (auto [to, from] : llvm::zip(mine, theirs))
    if (!paired.contains(to) && from->inputs.size() == to->inputs.size() && from != source.subgraphs[0].get())
      pairGraphs(*from, *to);
}

void InferSearch::chooseByStructure(const Operator &op, const Nearby &near) {
  // All that it is given is what the source's operator is given, in the same places.
  for (const Operator *candidate : near.operators) {
    if (!isSameKind(op, *candidate) || candidate->numOperands() != op.numOperands() ||
        candidate->results().size() != op.results().size() ||
        (candidate->result() && claims.lookup(candidate->result()) > 0) || taken.contains(candidate))
      continue;
    bool same = true;
    for (unsigned i = 0; same && i < op.numOperands(); ++i) {
      const Value *mine = op.operand(i), *theirs = candidate->operand(i);
      same = !mine == !theirs;
      if (!mine || !same)
        continue;
      const FoundTensor *known = find(*mine);
      if (known && known->source)
        same = known->source == theirs || llvm::is_contained(known->equals, theirs) ||
               onlyStoredOtherwise(*known->source, *theirs);
      else
        same = constantBehind(mine) ? !dependsOnInputs(*theirs) : mine->isVariable && theirs->isVariable;
      if (otherNumbers && constantBehind(mine))
        same = !dependsOnInputs(*theirs) && mine->elementCount() == theirs->elementCount();
    }
    if (!same)
      continue;
    for (auto [use, theirs] : llvm::zip(op.operands(), candidate->operands()))
      if (const Value *mine = use.get(); mine && mine->isVariable && !find(*mine)) {
        found[mine].source = theirs.get();
        found[mine].executed = false;
      }
    matched[&op] = candidate;
    taken.insert(candidate);
    auto activation = activationOf(op);
    for (auto [mine, theirs] : llvm::zip(op.results(), candidate->results())) {
      if (!mine || !theirs)
        continue;
      const Value *made = theirs;
      // What is done to the result there is fused here.
      if (activation != circle::ActivationFunctionType::NONE && activationOf(*candidate) != activation)
        for (const Operator *user : usersOf(*theirs).all)
          if (isActivation(*user, activation) && user->result()) {
            made = user->result();
            break;
          }
      if (llvm::ArrayRef<int32_t>(mine->shape) != llvm::ArrayRef<int32_t>(made->shape))
        continue;
      FoundTensor &known = found[mine];
      known = {};
      known.source = made;
      ++claims[made];
    }
    pairCallees(op, *candidate);
    findListed(op, *candidate);
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

llvm::Error InferSearch::run() {
  CompileOptions compile;
  compile.observed = true;
  if (auto made = eval::compile(source, compile))
    session.emplace(std::move(*made));
  else
    notes.push_back("the source does not run as a whole, so its operators are executed one by one: " +
                    llvm::toString(made.takeError()));
  for (auto &graph : source.subgraphs) {
    for (const Value *input : graph->inputs)
      alive.insert(input);
    for (const Operator &op : graph->operators) {
      bool any = false, depends = op.effects();
      for (const Use &use : op.operands()) {
        any |= use.get() != nullptr;
        depends |= use.get() && (alive.contains(use.get()) || use.get()->isVariable);
      }
      if (!any)
        withoutOperands.push_back(&op);
      if (depends)
        for (const Value *value : op.results())
          if (value)
            alive.insert(value);
    }
  }
  bool isFirst = true;
  for (auto [number, seed] : llvm::enumerate(options.seeds)) {
    if (llvm::Error error = runSource(static_cast<unsigned>(number))) {
      if (options.inputs)
        return error;
      std::string why = llvm::toString(std::move(error));
      if (isFirst)
        notes.push_back("the source does not run on random inputs, so its operators are executed one by one: " + why);
    }
    completeSource(seed);
    if (!isFirst) {
      verify();
      continue;
    }
    isFirst = false;
    // The graphs that are entered from outside: the first, and those of signatures.
    std::vector<std::pair<const Subgraph *, const Subgraph *>> entries{
        {source.subgraphs[0].get(), result.subgraphs[0].get()}};
    for (size_t i = 0; i < result.signatures.size(); ++i) {
      const Signature &signature = result.signatures[i];
      auto same = llvm::find_if(source.signatures, [&](const Signature &other) { return other.key == signature.key; });
      if (same == source.signatures.end() && i < source.signatures.size())
        same = source.signatures.begin() + static_cast<ptrdiff_t>(i);
      if (same != source.signatures.end() && same->subgraph && signature.subgraph)
        entries.emplace_back(same->subgraph, signature.subgraph);
    }
    for (auto [from, to] : entries) {
      if (paired.contains(to))
        continue;
      pairGraphs(*from, *to);
      constexpr unsigned mostFaults = 16;
      for (unsigned fault = 0; !otherNumbers && fault < mostFaults && resume(*to); ++fault)
        ;
      if (!otherNumbers)
        blameConstants(*to);
    }
  }
  return llvm::Error::success();
}

} // namespace origo::report
