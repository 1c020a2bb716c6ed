#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"
#include "ir/Undetermined.h"
#include "ir/rewrite/Order.h"
#include "schema/OperatorFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

/// What may take the place of what, before anything is changed.
namespace origo::rewrite {

/// A constant with the elements that it has in the source.
static bool isOfSource(const Value &constant) {
  return llvm::any_of(constant.relations, [](const Relation &relation) { return relation.steps == 0; });
}

/// An operator whose result goes on to be used as it is was only looked at, and so was what only it uses.
void Build::leaveKept() {
  llvm::SmallPtrSet<const Operator *, 8> kept;
  auto keep = [&](const Value *value) {
    if (value && value->producer() && isOwn(*value->producer(), match.consumed))
      kept.insert(value->producer());
  };
  for (const Created &item : created)
    for (const Use &use : item.op->operands())
      keep(use.get());
  for (const Replaced &item : replaced)
    keep(item.with);
  consumed.assign(roots.begin(), roots.end());
  for (size_t i = 0; i < consumed.size(); ++i)
    for (const Use &use : consumed[i]->operands())
      if (Operator *producer = use.get() ? use.get()->producer() : nullptr;
          producer && isOwn(*producer, match.consumed) && !kept.contains(producer) && !isOwn(*producer, consumed))
        consumed.push_back(producer);
}

const Build::Created *Build::createdBy(const Operator *op) const {
  auto known = op ? places.find(op) : places.end();
  return known == places.end() ? nullptr : &created[known->second];
}

/// Do a changed copy and what it is a copy of work on something in common? Else it would stand for work that others do.
/// Constants are no sign of that.
bool Build::sharesOperand(const Created &copy) const {
  llvm::SmallPtrSet<const Value *, 8> leaves, seen;
  auto collect = [&](const Operator &from, auto &&inside, auto &&leaf) {
    llvm::SmallVector<const Operator *, 8> open{&from};
    while (!open.empty())
      for (const Use &use : open.pop_back_val()->operands()) {
        const Value *value = use.get();
        if (!value || value->isConstant() || made.contains(value) || !seen.insert(value).second)
          continue;
        if (value->producer() && inside(*value->producer()))
          open.push_back(value->producer());
        else
          leaf(value);
      }
  };
  for (const Operator *op : copy.originals)
    collect(
        *op, [&](const Operator &op) { return isOwn(op, consumed); },
        [&](const Value *value) { leaves.insert(value); });
  bool shared = leaves.empty();
  seen.clear();
  collect(
      *copy.op, [&](const Operator &op) { return createdBy(&op) != nullptr; },
      [&](const Value *value) { shared |= leaves.contains(value); });
  return shared;
}

/// Does an operator of the pattern stay though the rule does not use its result? That is then an operand which the rule
/// takes for any other one.
bool Build::standsTwice() const {
  return llvm::any_of(match.consumed, [&](const Operator *op) {
    return !isOwn(*op, consumed) &&
           llvm::none_of(op->results(), [&](const Value *result) { return asked.contains(result); });
  });
}

std::string Build::lawsBroken() {
  if (!Turn::mistaken().empty())
    return Turn::mistaken();
  llvm::SmallPtrSet<const Value *, 16> operands, used(match.read.begin(), match.read.end());
  for (Operator *op : consumed)
    for (const Use &use : op->operands())
      operands.insert(use.get());
  operands.insert(match.lent.begin(), match.lent.end());
  auto mayUse = [&](const Value *value) {
    return !value || operands.contains(value) || made.contains(value) || maker(value);
  };
  auto nameOf = [](const Value *value) { return "\"" + printable(value->name) + "\""; };
  auto isReplaced = [&](const Value *value) { return value && value->producer() && isOwn(*value->producer(), roots); };
  for (auto [i, root] : llvm::enumerate(roots))
    for (const Value *result : root->results()) {
      // What only a root uses that goes before it goes with it.
      auto goes = [&, before = llvm::ArrayRef(roots).take_front(i)](const Use &use) {
        return isOwn(*use.user(), before);
      };
      if (result && !result->unused() && llvm::none_of(replaced, [&](auto &item) { return item.old == result; }) &&
          (result->otherUses != 0 || !everyUse(*result, goes)))
        return nameOf(result) + " is used and nothing takes its place";
    }
  for (const Created &item : created)
    for (const Use &use : item.op->operands()) {
      if (isReplaced(use.get()))
        return "what is created uses " + nameOf(use.get()) + ", which is replaced";
      if (!mayUse(use.get()))
        return "what is created uses " + nameOf(use.get()) + ", which is no operand of what is consumed";
      used.insert(use.get());
    }
  for (const Replaced &item : replaced) {
    if (isReplaced(item.with))
      return nameOf(item.with) + " takes a place and is replaced";
    if (!mayUse(item.with))
      return nameOf(item.with) + " takes a place and is no operand of what is consumed";
    used.insert(item.with);
  }
  for (const auto &[constant, from] : made)
    for (Value *parent : from.parents) {
      if (!operands.contains(parent))
        return "a constant is made of " + nameOf(parent) + ", which is no operand of what is consumed";
      used.insert(parent);
    }
  for (const Value *constant : match.read)
    if (!operands.contains(constant))
      return "constant " + nameOf(constant) + " was read, which is no operand of what is consumed";
  for (const Operator *op : match.inspected)
    if (!isOwn(*op, consumed))
      return op->opName() + " was looked into and is not consumed";
  for (Operator *op : consumed)
    for (auto [i, use] : llvm::enumerate(op->operands())) {
      Value *value = use.get();
      if (!value || used.contains(value) || (value->producer() && isOwn(*value->producer(), consumed)))
        continue;
      std::optional<UnneededReason> reason = whyUnneeded(*op, i);
      if (!reason && value->isConstant() && i < op->info()->operands.size() && op->info()->operands[i].statesShape)
        continue; // a constant that states a shape was read with it
      // What an earlier rewrite made of a constant was read for that; the operator of the source was not the whole.
      if (reason == UnneededReason::ShapeOnly && value->isConstant() && i < op->info()->operands.size() &&
          op->info()->operands[i].statesShapeIfWhole && !isOfSource(*value))
        continue;
      if (!reason)
        return "operand " + std::to_string(i) + " of " + op->opName() + " is lost: " + nameOf(value);
      dropped.push_back({op, static_cast<unsigned>(i), value, *reason});
    }
  for (Operator *op : llvm::ArrayRef(consumed).drop_front(roots.size()))
    if (llvm::none_of(op->results(), [&](const Value *v) { return v && operands.contains(v); }))
      return op->opName() + " is consumed and feeds nothing that is";
  if (roots.size() > 1) {
    const Operator &first = **llvm::min_element(roots, [](auto *a, auto *b) { return comesBefore(*a, *b); });
    for (const Value *value : operands)
      if (const Operator *producer = value ? value->producer() : nullptr;
          producer && !isOwn(*producer, consumed) && !comesBefore(*producer, first))
        return nameOf(value) + " may be computed from a root, by order";
  }
  for (const Created &item : created)
    if (item.standsFor.empty() && !item.synthetic)
      return item.op->opName() + " is created and stands for nothing";
  for (const Created &item : created)
    if (!item.originals.empty() && !sharesOperand(item))
      return "the copy of " + item.op->opName() + " works on nothing that the original works on";
  return {};
}

/// Why a value cannot stand in the place of a result.
const char *Build::misfit(const Replaced &item) const {
  const Value &old = *item.old, &with = *item.with;
  if (!made.contains(&with) && !maker(&with))
    return engine.mergeRefusal(old, with);
  if (isUndetermined(old) && maker(&with))
    return isUndetermined(with) || (with.shape.empty() && !with.hasRank) ? "the shape of the result is not known"
                                                                         : nullptr;
  if (made.contains(&with)) {
    if (old.isInterface())
      return "a graph output would become a constant";
    if (!isUndetermined(old) && (old.type != with.type || old.shape != with.shape))
      return "type or shape would change";
    return nullptr;
  }
  if (!with.hasShape)
    return nullptr; // inference does not know
  return old.type != with.type || !mayHaveShape(old, statedShape(with)) ? "type or shape would change" : nullptr;
}

/// Is all of the operator's state in variables among its operands?
static bool keepsVariables(const Operator &op) {
  return op.info() && (op.info()->effects == 0 ||
                       llvm::any_of(op.info()->operands, [](const OperandInfo &operand) { return operand.variable; }));
}

static llvm::SmallVector<const Value *, 4> variablesOf(const Operator &op) {
  llvm::SmallVector<const Value *, 4> list;
  for (const Use &use : op.operands())
    if (use.get() && use.get()->isVariable && !llvm::is_contained(list, use.get()))
      list.push_back(use.get());
  return list;
}

/// Do created operators do to the root's variables what it does? Each is written by one, behind all that read it.
bool Build::keepsState(const Operator &root) const {
  constexpr auto state = uint8_t(Effect::ReadsState) | uint8_t(Effect::WritesState);
  if ((root.effects() & ~state) || !keepsVariables(root))
    return false;
  auto writes = [](const Operator &op) { return bool(op.effects() & uint8_t(Effect::WritesState)); };
  auto variables = variablesOf(root);
  llvm::SmallDenseMap<const Value *, const Operator *, 4> writers;
  for (const Created &item : created)
    for (const Value *variable : variablesOf(*item.op))
      if (!llvm::is_contained(variables, variable) ||
          (writes(*item.op) && !writers.try_emplace(variable, item.op).second))
        return false;
  if (llvm::any_of(created, [&](const Created &item) {
        return item.op->effects() != 0 && ((item.op->effects() & ~state) || !keepsVariables(*item.op));
      }))
    return false;
  for (const Value *variable : variables) {
    const Operator *writer = writers.lookup(variable);
    if (writes(root) != bool(writer))
      return false;
    // What the writer works on; all who read the variable have to be among them.
    llvm::SmallPtrSet<const Operator *, 16> before{writer};
    for (llvm::SmallVector<const Operator *, 16> open{writer}; writer && !open.empty();)
      for (const Use &use : open.pop_back_val()->operands())
        if (const Created *maker = this->maker(use.get()); maker && before.insert(maker->op).second)
          open.push_back(maker->op);
    for (const Created &item : created)
      if (writer && llvm::is_contained(variablesOf(*item.op), variable) && !before.contains(item.op))
        return false;
  }
  return true;
}

/// What has effects may be replaced by what has the same ones, in the same place among all that have any: it is the one
/// root, and a changed copy of it, or operators that do the same to the same variables, take its place.
const char *Build::effectsRefusal() {
  auto hasEffects = [](const Operator *op) { return op->effects() != 0; };
  unsigned before = llvm::count_if(consumed, hasEffects);
  unsigned after = llvm::count_if(created, [&](const Created &item) { return hasEffects(item.op); });
  if (before == 0 && after == 0)
    return nullptr;
  const Operator &root = *roots.front();
  bool alone = before == 1 && roots.size() == 1 && hasEffects(&root);
  auto *item = llvm::find_if(created, [&](const Created &one) { return hasEffects(one.op); });
  auto sameVariables = [&](const Operator &copy) {
    auto variables = variablesOf(copy);
    for (const Value *&variable : variables) // one that is stored otherwise has the place of the root's
      if (auto own = made.find(variable); own != made.end())
        variable = own->second.base;
    return variables == variablesOf(root);
  };
  bool copied = alone && after == 1 && item->op->effects() == root.effects() && isOwn(root, item->originals) &&
                sameVariables(*item->op);
  return copied || (alone && keepsState(root)) ? nullptr : "an operator with effects is neither moved nor replaced";
}

/// A kernel of 16 bits that TensorFlow Lite lacks, of an operator that was none of that kind before; empty: there is
/// none.
std::string Build::widthRefusal() {
  auto isWide = [](const Value *value) { return value && value->type == TensorType::INT16; };
  for (const Created &item : created) {
    const Op code = item.op->code;
    if (factsOf(code).tflite16 || !llvm::any_of(item.op->results(), isWide) ||
        llvm::any_of(consumed, [&](const Operator *op) { return op->code == code; }))
      continue;
    return "TensorFlow Lite has no " + item.op->opName() + " of int16";
  }
  return {};
}

/// Why the target does not take an operator that would be created. One in the place of another of its kind, which is
/// not taken either, is no more work that is refused than before; nor are movements in the place of as many movements.
std::string Build::targetRefusal() {
  if (!engine.refuses)
    return {};
  std::string why;
  llvm::SmallPtrSet<const Operator *, 4> answered;
  auto goes = [&](const Operator &op) { // what others use stays
    return isOwn(op, roots) || llvm::all_of(op.results(), [&](Value *result) {
             bool inside = result && result->otherUses == 0;
             if (inside)
               result->forEachUse([&](Use &use) { inside &= isOwn(*use.user(), consumed); });
             return inside;
           });
  };
  auto answersFor = [&](Op code) {
    return llvm::any_of(consumed, [&](const Operator *op) {
      auto moves = [](const OperatorInfo *info) { return info && info->has(Trait::DataMovement); };
      bool isLike = op->code == code || (moves(operatorInfo(code)) && moves(op->info()));
      return isLike && goes(*op) && !engine.refuses(*op).empty() && answered.insert(op).second;
    });
  };
  // As they would stand in the graph.
  auto exchange = [&] {
    for (Replaced &item : replaced)
      if (const Created *maker = this->maker(item.with))
        std::swap(maker->op->resultArray()[item.with->resultIndex()], item.old);
  };
  exchange();
  auto price = [&](const Operator &op) { return engine.price ? engine.price(op) : 1; };
  double refusedAfter = 0;
  std::vector<std::pair<Op, std::string>> refusals;
  for (const Created &item : created)
    if (std::string refusal = engine.refuses(*item.op); !refusal.empty()) {
      refusals.emplace_back(item.op->code, std::move(refusal));
      refusedAfter += price(*item.op);
    }
  exchange();
  if (engine.mends) {
    double refusedBefore = 0;
    size_t gone = 0;
    for (const Operator *op : consumed)
      if (goes(*op)) {
        ++gone;
        refusedBefore += engine.refuses(*op).empty() ? 0 : price(*op);
      }
    if (refusedBefore == 0)
      return "the target takes it as it is";
    if (refusedAfter >= refusedBefore)
      return "what would be made is no better: " + refusals.front().second;
    return engine.keepsSmall && created.size() > gone ? "there would be more operators" : "";
  }
  for (auto &[code, refusal] : refusals)
    if (why.empty() && !answersFor(code))
      why = std::move(refusal);
  return why;
}

} // namespace origo::rewrite
