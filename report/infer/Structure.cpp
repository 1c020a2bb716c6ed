#include "report/infer/Search.h"

#include "eval/RealNumbers.h"
#include "ir/Activation.h"
#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

#include <cmath>

/// What is told by who feeds whom.
namespace origo::report {

using namespace eval;

bool onlyMoves(const Operator &op) {
  return storesOtherwise(op) || (op.info() && op.info()->has(Trait::DataMovement)) || op.code == BuiltinOperator::CAST;
}

bool isSameKind(const Operator &a, const Operator &b) {
  return a.builtinMeant() == b.builtinMeant() && a.customCode() == b.customCode();
}

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

bool addOnce(llvm::SmallVectorImpl<const Value *> &list, const Value *value, size_t most) {
  if (list.size() >= most || llvm::is_contained(list, value))
    return false;
  list.push_back(value);
  return true;
}

bool onlyStoredOtherwise(const Value &a, const Value &b) {
  auto behind = [](const Value &value) {
    const Value *at = &value;
    for (unsigned step = 0; step < 4 && at->producer() && storesOtherwise(*at->producer()); ++step)
      at = at->producer()->operand(0);
    return at;
  };
  return behind(a) == behind(b);
}

const Value *constantBehind(const Value *value) {
  if (value && value->producer() && storesOtherwise(*value->producer()))
    value = value->producer()->operand(0);
  return value && value->isConstant() ? value : nullptr;
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

} // namespace origo::report
