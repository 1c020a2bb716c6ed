#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"
#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/Undetermined.h"
#include "ir/Versions.h"
#include "ir/rewrite/Order.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

/// What each operator that is made stands for, and the rewrite itself.
namespace origo::rewrite {

/// A changed copy stands for what it is a copy of, the rest for the remainder of the region. An activation that a copy
/// does not have any more belongs to the remainder.
void Build::assignWork() {
  auto isWhole = [](const Operator &copy, const Operator &of) {
    return activationOf(of) == Activation::NONE || activationOf(copy) == activationOf(of);
  };
  llvm::SmallVector<Operator *, 8> remainder;
  for (Operator *op : consumed)
    if (llvm::none_of(created,
                      [&](const Created &item) { return isOwn(*op, item.originals) && isWhole(*item.op, *op); }))
      remainder.push_back(op);
  bool taken = remainder.empty();
  for (Created &item : created) {
    if (item.synthetic)
      continue;
    item.standsFor.assign(item.originals.begin(), item.originals.end());
    if (item.originals.empty()) {
      item.standsFor.assign(remainder.begin(), remainder.end());
      taken = true;
    }
  }
  if (taken)
    return;
  for (Created &item : created)
    if (llvm::any_of(replaced, [&](const Replaced &one) { return one.with == item.op->result(); }))
      llvm::copy_if(remainder, std::back_inserter(item.standsFor),
                    [&](Operator *op) { return !isOwn(*op, item.originals); });
}

/// Repeated to a bigger shape, as an elementwise operator would do itself?
bool Build::isBroadcast(const Value &from, const Made &constant, const Value &to) {
  if (llvm::any_of(constant.steps, [](const Step &step) { return step.kind == Step::Permute; }))
    return false;
  for (int i = 1; i <= from.rank(); ++i)
    if (int32_t size = from.shape[from.rank() - i]; size != 1 && (i > to.rank() || to.shape[to.rank() - i] != size))
      return false;
  return true;
}

/// Does it compute the bits that the consumed operators did? The same operator on equal operands does, or, element by
/// element, on moved ones.
bool Build::isExact(const Created &item) const {
  for (const Use &use : item.op->operands())
    if (auto known = use.get() ? made.find(use.get()) : made.end(); known != made.end() && !known->second.exact)
      return false;
    else if (const Created *other = maker(use.get()); other && !other->exact)
      return false;
  // What else it stands for has to have been as exact.
  if (!llvm::all_of(item.standsFor, [&](Operator *op) { return isOwn(*op, item.originals) || computesExactly(*op); }))
    return false;
  if (computesExactly(*item.op))
    return true;
  if (item.originals.size() != 1)
    return false;
  const Operator &original = *item.originals.front();
  if (item.op->numOperands() != original.numOperands() || !item.sameOptions)
    return false;
  bool elementwise = original.info() && original.info()->has(Trait::Elementwise);
  bool movedBack = llvm::none_of(replaced, [&](const Replaced &one) { return one.with == item.op->result(); });
  for (auto [use, before] : llvm::zip(item.op->operands(), original.operands())) {
    Value *now = use.get(), *then = before.get();
    if (now == then)
      continue;
    auto known = made.find(now);
    bool moved = known != made.end()
                     ? then && known->second.base == then && (movedBack || isBroadcast(*then, known->second, *now))
                     : movedBack && now && then && then->producer() && isOwn(*then->producer(), consumed) &&
                           then->producer()->info()->has(Trait::DataMovement) && then->producer()->operand(0) == now;
    if (!elementwise || !moved)
      return false;
  }
  return true;
}

/// Which operators of the match are in front of one of these: what its operands are computed by.
static llvm::SmallPtrSet<const Operator *, 8> inFront(llvm::ArrayRef<const Operator *> from,
                                                      llvm::function_ref<bool(const Operator &)> isInside) {
  llvm::SmallPtrSet<const Operator *, 8> seen;
  llvm::SmallVector<const Operator *, 8> open(from.begin(), from.end());
  while (!open.empty())
    for (const Use &use : open.pop_back_val()->operands())
      if (const Operator *producer = use.get() ? use.get()->producer() : nullptr;
          producer && isInside(*producer) && seen.insert(producer).second)
        open.push_back(producer);
  return seen;
}

/// What was in front of the work of an operator that is made, and is not in front of it any more, it has moved past.
void Build::noteMoved() {
  if (match.consumed.size() < 2)
    return;
  auto wasMatched = [&](const Operator &op) { return isOwn(op, match.consumed); };
  // Who goes on with the same work has all of it in front, and tells.
  llvm::SmallPtrSet<const Operator *, 8> parts;
  for (const Created &whole : created)
    for (const Operator *op : inFront({whole.op}, [&](const Operator &op) { return createdBy(&op); }))
      if (llvm::all_of(createdBy(op)->standsFor, [&](Operator *from) { return isOwn(*from, whole.standsFor); }))
        parts.insert(op);
  for (Created &item : created) {
    if (item.standsFor.empty() || parts.contains(item.op))
      continue;
    llvm::SmallPtrSet<const Operator *, 8> now =
        inFront({item.op}, [&](const Operator &op) { return createdBy(&op) || wasMatched(op); });
    llvm::SmallPtrSet<const Operator *, 8> done(item.standsFor.begin(), item.standsFor.end());
    for (const Operator *op : now)
      if (const Created *other = createdBy(op))
        done.insert(other->standsFor.begin(), other->standsFor.end());
    llvm::SmallPtrSet<const Operator *, 8>
        fed; // what was not matched, and gives it or what is in front of it an operand
    auto addFeeders = [&](const Operator *op) {
      for (const Use &use : op->operands())
        if (use.get() && use.get()->producer())
          fed.insert(use.get()->producer());
    };
    addFeeders(item.op);
    llvm::for_each(now, addFeeders);
    llvm::SmallVector<const Operator *, 4> own(item.standsFor.begin(), item.standsFor.end());
    for (const Operator *before : inFront(own, wasMatched)) {
      if (done.contains(before) || now.contains(before))
        continue;
      // Of a work of which only the end has moved, the beginning is still in front.
      IdSet moved = before->origins;
      for (const Use &use : before->operands())
        if (const Operator *feeder = use.get() ? use.get()->producer() : nullptr;
            feeder && !wasMatched(*feeder) && fed.contains(feeder))
          moved = model.sets.minus(moved, feeder->origins);
      item.movedPast = model.sets.join(item.movedPast, moved);
    }
  }
}

/// Who goes on with the value has nothing of what moved data there and back, or nowhere, in front of it any more, but
/// for the beginning of a work of which that was the end.
void Build::noteUndone(const Value &old, const Value &with) {
  IdSet undone;
  for (const Operator *op : consumed)
    if (op->info()->has(Trait::DataMovement))
      undone = model.sets.join(undone, op->origins);
  if (const Operator *producer = with.producer())
    undone = model.sets.minus(undone, producer->origins);
  if (!undone.empty())
    old.forEachUse([&](Use &use) { use.user()->setMovedPast(model.sets.join(use.user()->movedPast(), undone)); });
}

/// What became of the region where nothing was created in its place.
Fate Build::fateOf() const {
  if (!created.empty())
    return consumed.size() < created.size() ? Fate::Decomposed : Fate::FusedAway;
  if (made.contains(replaced.front().with))
    return Fate::FoldedToConstant;
  // Several of the source that had become one and moved elements there and back were no identities.
  auto wasSeveral = [&](const Operator *op) {
    for (uint32_t way = 0; way < lineage::count(*op); ++way) {
      IdSet ids = lineage::origins(*op, way);
      if (auto first = model.sets.next(ids, 0); first && model.sets.next(ids, *first + 1))
        return true;
    }
    return false;
  };
  if (consumed.size() == 1 && !(consumed.front()->info()->has(Trait::DataMovement) && wasSeveral(consumed.front())))
    return Fate::Identity;
  auto quantizes = [](const Operator *op) { return op->code == Op::QUANTIZE || op->code == Op::DEQUANTIZE; };
  if (llvm::all_of(consumed, quantizes))
    return Fate::QuantizationCancelled;
  bool moves = llvm::all_of(consumed, [](const Operator *op) { return op->info()->has(Trait::DataMovement); });
  return moves ? Fate::LayoutCancelled : Fate::Cancelled;
}

RewriteResult Build::finish() {
  for (const Replaced &item : replaced)
    if (!isOwn(*item.old->producer(), roots))
      roots.push_back(item.old->producer());
  leaveKept();
  assignWork();
  auto give = [&](RewriteResult result) {
    abandon();
    return result;
  };
  if (const char *why = effectsRefusal())
    return give(decline(why));
  if (const char *why = engine.refusal(consumed))
    return give(decline(why));
  for (const Replaced &item : replaced)
    if (const char *why = misfit(item))
      return give(decline(why));
  for (const Created &item : created)
    if (llvm::any_of(item.op->results(), [&](const Value *result) {
          return !result->hasShape && llvm::none_of(replaced, [&](const Replaced &one) { return one.with == result; });
        }))
      return give(decline("the shape in between is not known before run time"));
  if (std::string why = widthRefusal(); !why.empty())
    return give(decline(why));
  if (std::string why = targetRefusal(); !why.empty())
    return give(decline(why));
  if (roots.size() > 1 && llvm::any_of(roots, [](const Operator *root) { return lineage::count(*root) > 1; }))
    return give(decline("one of several roots stands for several equal operators"));
  if (std::string law = lawsBroken(); !law.empty())
    return give(standsTwice() ? decline("a value stands at two places of the pattern") : RewriteResult::refused(law));
  if (std::string spin = engine.spinning(roots); !spin.empty())
    return give(decline(spin));
  apply();
  return RewriteResult::applied();
}

/// Takes its place before an operator, linked to what it uses.
Operator &Build::putIn(Created &item, Operator &before, Destinations &into) {
  Operator &op = *item.op;
  into.entries.push_back(&op);
  op.destinations = &into;
  op.made = true;
  op.parent = before.parent;
  op.index = before.index; // until the model is numbered again: what tells which of two comes first
  for (Use &use : op.operands()) {
    Value *value = std::exchange(use.value, nullptr);
    use.set(value);
  }
  if (!item.intermediates.empty())
    model.setIntermediates(op, item.intermediates);
  before.parent->operators.insert(before.getIterator(), op);
  op.version = lowestVersion(op);
  IdSet serves;
  llvm::StringRef reason;
  op.inexact = !item.exact;
  for (uint32_t way = 0; way < ways.size(); ++way) {
    Lineage one;
    for (const Operator *from : item.standsFor)
      one.operators = model.sets.join(one.operators, originsOf(*from, way));
    for (Use &use : op.operands()) {
      one.operands.push_back(use.get() ? lineageOf(*use.get(), way) : 0);
      if (way == 0)
        use.lineage = one.operands.back();
    }
    op.origins = model.sets.join(op.origins, one.operators);
    if (ways.size() > 1)
      op.makeLineages().push_back(std::move(one));
  }
  op.setMovedPast(item.movedPast);
  for (Operator *from : item.standsFor) {
    op.passes = model.passLists.join(op.passes, from->passes);
    op.calls = model.sets.join(op.calls, from->calls);
    op.inexact |= from->inexact;
    op.setMovedPast(model.sets.join(op.movedPast(), from->movedPast()));
    if (!from->wide().empty())
      op.setWide(from->wide());
    if (from->synthetic) {
      serves = model.sets.join(serves, from->synthetic->serves);
      reason = from->synthetic->reason;
    }
  }
  mutation::joined(model, op.origins);
  if (item.synthetic || (op.origins.empty() && reason.empty())) {
    // A bridge may have become one with an operator that stands for something: which of the two this one was for, its
    // lineage tells.
    reason = reasonName(item.synthetic ? *item.synthetic : bridgeOf(op.code));
    for (Operator *from : consumed)
      serves =
          model.sets.join(serves, from->origins.empty() && from->synthetic ? from->synthetic->serves : from->origins);
  }
  if (op.origins.empty())
    op.synthetic = model.create(Synthetic{reason, serves});
  op.passes = model.passLists.add(op.passes, engine.pass);
  engine.created(op, roots);
  return op;
}

/// What takes the place of a result of another format tells what that is.
static void determine(Value &value, const Value &with) {
  value.type = with.type;
  value.hasShape = true;
  value.hasRank = with.hasRank;
  value.shape = with.shape;
  value.setShapeSignature(with.shapeSignature());
  value.quantization = with.quantization;
}

void Build::apply() {
  std::optional<RewriteEvent> event = engine.describe(consumed, where);
  ++model.rewrites;
  match.applied = true;
  engine.region = consumed;
  findWays();
  noteMoved();
  Fate fate = fateOf();
  Operator &first = **llvm::min_element(roots, [](auto *a, auto *b) { return comesBefore(*a, *b); });
  Destinations *into = model.addDestinations();
  for (Created &item : created)
    item.exact = isExact(item);

  // Results go over to what computes them now, so that their names, users and relations stay.
  auto creates = [&](const Value *value) -> Created * {
    auto *found = llvm::find_if(created, [&](const Created &item) { return item.op == value->producer(); });
    return found == created.end() ? nullptr : &*found;
  };
  llvm::SmallVector<Replaced, 2> taken;
  for (Replaced &item : replaced) {
    Created *maker = creates(item.with);
    if (!maker) {
      taken.push_back(item);
      continue;
    }
    Operator &root = *item.old->producer();
    root.resultArray()[item.old->resultIndex()] = nullptr;
    item.of = &root;
    for (Created &other : created)
      for (Use &use : other.op->operands())
        if (use.value == item.with)
          use.value = item.old;
    if (isUndetermined(*item.old))
      determine(*item.old, *item.with);
    unsigned position = item.with->definerResult;
    maker->op->resultArray()[position] = item.old;
    item.old->definer = maker->op;
    item.old->definerResult = position;
    engine.discard(*item.with);
    mutation::related(model, *item.old);
  }
  for (Created &item : created) {
    Destinations *own = into;
    if (created.size() > 1) {
      own = model.addDestinations();
      into->entries.push_back(own);
    }
    putIn(item, first, *own);
  }
  relateMoved();
  relateAbsorbed();
  relateScaled();
  for (Value *constant : constants)
    if (!constant->unused())
      stampConstant(*constant);
  relateStored();
  for (const Replaced &item : taken)
    if (made.contains(item.with)) {
      if (isUndetermined(*item.old))
        determine(*item.old, *item.with);
      std::vector<Lineage> parents = parentsOf(made[item.with], [](const Operator &) { return true; });
      for (auto [way, one] : llvm::enumerate(parents))
        for (const Operator *op : consumed)
          one.operators = model.sets.join(one.operators, originsOf(*op, static_cast<uint32_t>(way)));
      engine.becomeConstant(*item.old, *item.with, parents, made[item.with].exact, *into);
    } else {
      noteUndone(*item.old, *item.with);
      llvm::SmallVector<uint32_t, 2> numbers;
      for (uint32_t way = 0; way < ways.size(); ++way)
        numbers.push_back(lineageOf(*item.with, way));
      bool exact = llvm::all_of(consumed, [](Operator *op) { return computesExactly(*op); }) ||
                   // No integer is further from itself than rounding reaches; a float is.
                   (fate == Fate::QuantizationCancelled && item.old->type != TensorType::FLOAT32);
      engine.standIn(*item.old, *item.with, exact, numbers, *into);
    }
  for (const Dropped &item : dropped)
    engine.noteUnneeded(*item.op, item.position, item.reason);

  llvm::SmallVector<std::pair<Operator *, Destinations *>, 8> heirsOf;
  for (Operator *op : consumed) {
    llvm::SmallVector<Operator *, 2> heirs;
    for (Created &item : created)
      if (isOwn(*op, item.standsFor))
        heirs.push_back(item.op);
    Destinations *way = into;
    if (!heirs.empty() && heirs.size() < created.size()) {
      way = model.addDestinations();
      for (Operator *heir : heirs)
        way->entries.push_back(heir->destinations);
    }
    heirsOf.emplace_back(op, way);
  }
  llvm::SmallVector<Operator *, 4> makes;
  for (Created &item : created)
    makes.push_back(item.op);
  for (const Value *constant : constants)
    if (!constant->unused())
      for (const Value *parent : made[constant].parents)
        engine.carried[parent] = constant->isVariable ? sourcesOf(*constant) : constant->sourceTensors;
  for (const Operator *op : created.empty() ? llvm::ArrayRef(consumed) : llvm::ArrayRef<Operator *>())
    for (uint32_t way = 0; way < ways.size(); ++way)
      engine.together = model.sets.join(engine.together, originsOf(*op, way));
  engine.retire(heirsOf, roots.size(), makes, fate);
  engine.carried.clear();
  engine.together = {};
  for (Value *constant : constants)
    if (!constant->erased() && constant->unused())
      engine.discard(*constant);
  for (Operator *op : scratch)
    engine.recycle(*op);
  engine.region = {};
  if (!event)
    return;
  for (auto [before, op] : llvm::zip(event->before, consumed))
    before.kept = !op->erased();
  event->created.assign(makes.begin(), makes.end());
  if (created.empty())
    event->value = llvm::cast<Value *>(into->entries.front());
  event->tookOver = std::move(engine.takenOver);
  engine.onRewrite(*event);
}

} // namespace origo::rewrite
