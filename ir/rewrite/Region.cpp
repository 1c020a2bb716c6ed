#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"
#include "ir/Mutation.h"
#include "ir/Versions.h"
#include "ir/rewrite/Lineage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

/// The laws of regions, what each operator that is made stands for, and the rewrite itself.
namespace origo::rewrite {

static bool isOwn(const Operator &op, llvm::ArrayRef<Operator *> ops) { return llvm::is_contained(ops, &op); }

static bool isStatic(const Value *value) { return value && value->isStatic(); }

/// Why an operand of an operator tells nothing that is not known without it; the closed list of unneeded reasons.
static std::optional<UnneededReason> whyUnneeded(const Operator &op, unsigned position) {
  const OperatorInfo *row = op.info();
  if (!row || !op.result())
    return std::nullopt;
  if (position >= row->operands.size())
    return std::nullopt;
  if (row->has(Trait::ShapeQuery) && position == 0 && (op.code == Op::RANK || isStatic(op.operand(0))))
    return UnneededReason::ShapeOnly;
  const OperandInfo &operand = row->operands[position];
  if (!llvm::all_of(op.results(), isStatic))
    return std::nullopt;
  if (operand.statesShape)
    return UnneededReason::ShapeOnly;
  // What is worked on is the first operand that states no shape itself.
  unsigned data = 0;
  while (data + 1 < row->operands.size() && row->operands[data].statesShapeIfWhole)
    ++data;
  const Value *x = op.operand(data);
  bool whole = isStatic(x) && llvm::all_of(op.results(), [&](const Value *result) {
                 return result->elementCount() == x->elementCount();
               });
  return operand.statesShapeIfWhole && whole ? std::optional(UnneededReason::ShapeOnly) : std::nullopt;
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

std::string Build::lawsBroken() {
  if (!match.misuse.empty())
    return match.misuse.str();
  llvm::SmallPtrSet<const Value *, 16> operands, used(match.read.begin(), match.read.end());
  for (Operator *op : consumed)
    for (const Use &use : op->operands())
      operands.insert(use.get());
  auto mayUse = [&](const Value *value) {
    return !value || operands.contains(value) || made.contains(value) || maker(value);
  };
  auto nameOf = [](const Value *value) { return "\"" + printable(value->name) + "\""; };
  auto isReplaced = [&](const Value *value) { return value && value->producer() && isOwn(*value->producer(), roots); };
  for (const Operator *root : roots)
    for (const Value *result : root->results())
      if (result && !result->unused() && llvm::none_of(replaced, [&](auto &item) { return item.old == result; }))
        return nameOf(result) + " is used and nothing takes its place";
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
      if (!reason)
        return "operand " + std::to_string(i) + " of " + op->opName() + " is lost: " + nameOf(value);
      dropped.push_back({op, static_cast<unsigned>(i), value, *reason});
    }
  for (Operator *op : llvm::ArrayRef(consumed).drop_front(roots.size()))
    if (llvm::none_of(op->results(), [&](const Value *v) { return v && operands.contains(v); }))
      return op->opName() + " is consumed and feeds nothing that is";
  if (roots.size() > 1) {
    unsigned first = (*llvm::min_element(roots, [](auto *a, auto *b) { return a->index < b->index; }))->index;
    for (const Value *value : operands)
      if (const Operator *producer = value ? value->producer() : nullptr;
          producer && !isOwn(*producer, consumed) && producer->index >= first)
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

/// A changed copy stands for what it is a copy of, the rest for the remainder of the region. An activation that a copy
/// does not have any more belongs to the remainder.
void Build::assignWork() {
  auto isWhole = [](const Operator &copy, const Operator &of) {
    return activationOf(of) == Activation::NONE || activationOf(copy) == activationOf(of);
  };
  llvm::SmallVector<Operator *, 8> remainder;
  for (Operator *op : consumed)
    if (llvm::none_of(created, [&](const Created &item) { return isOwn(*op, item.originals) && isWhole(*item.op, *op); }))
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
                     ? known->second.base == then && (movedBack || isBroadcast(*then, known->second, *now))
                     : movedBack && now && then && then->producer() && isOwn(*then->producer(), consumed) &&
                           then->producer()->info()->has(Trait::DataMovement) && then->producer()->operand(0) == now;
    if (!elementwise || !moved)
      return false;
  }
  return true;
}

/// What became of the region where nothing was created in its place.
Fate Build::fateOf() const {
  if (!created.empty())
    return consumed.size() < created.size() ? Fate::Decomposed : Fate::FusedAway;
  if (made.contains(replaced.front().with))
    return Fate::FoldedToConstant;
  if (consumed.size() == 1)
    return Fate::Identity;
  auto quantizes = [](const Operator *op) { return op->code == Op::QUANTIZE || op->code == Op::DEQUANTIZE; };
  if (llvm::all_of(consumed, quantizes))
    return Fate::QuantizationCancelled;
  bool moves = llvm::all_of(consumed, [](const Operator *op) { return op->info()->has(Trait::DataMovement); });
  return moves ? Fate::LayoutCancelled : Fate::Identity;
}

/// Why a value cannot stand in the place of a result.
const char *Build::misfit(const Replaced &item) const {
  const Value &old = *item.old, &with = *item.with;
  if (!made.contains(&with) && !maker(&with))
    return engine.mergeRefusal(old, with);
  if (made.contains(&with)) {
    if (old.isInterface())
      return "a graph output would become a constant";
    if (old.type != with.type || old.shape != with.shape)
      return "type or shape would change";
    return nullptr;
  }
  if (!with.hasShape)
    return nullptr; // inference does not know
  return old.type != with.type || !mayHaveShape(old, statedShape(with)) ? "type or shape would change" : nullptr;
}

/// Why the target does not take an operator that would be created.
std::string Build::targetRefusal() {
  if (!engine.refuses)
    return {};
  std::string why;
  // As they would stand in the graph.
  auto exchange = [&] {
    for (Replaced &item : replaced)
      if (const Created *maker = this->maker(item.with))
        std::swap(maker->op->resultValues[item.with->resultIndex()], item.old);
  };
  exchange();
  for (const Created &item : created) {
    item.op->parent = match.root().op->parent;
    if (why.empty())
      why = engine.refuses(*item.op);
  }
  exchange();
  return why;
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
  if (std::string why = targetRefusal(); !why.empty())
    return give(decline(why));
  if (roots.size() > 1 && llvm::any_of(roots, [](const Operator *root) { return lineage::count(*root) > 1; }))
    return give(decline("one of several roots stands for several equal operators"));
  if (std::string law = lawsBroken(); !law.empty())
    return give(RewriteResult::refused(law));
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
      op.lineages.make().push_back(std::move(one));
  }
  for (Operator *from : item.standsFor) {
    op.passes = model.passLists.join(op.passes, from->passes);
    op.calls = model.sets.join(op.calls, from->calls);
    op.inexact |= from->inexact;
    if (!from->wide->empty())
      op.wide = from->wide;
    if (from->synthetic) {
      serves = model.sets.join(serves, from->synthetic->serves);
      reason = from->synthetic->reason;
    }
  }
  mutation::joined(model, op.origins);
  if (item.synthetic) {
    reason = reasonName(*item.synthetic);
    for (Operator *from : consumed)
      serves = model.sets.join(serves, from->origins);
  }
  if (op.origins.empty())
    op.synthetic = model.create(Synthetic{reason, serves});
  op.passes = model.passLists.add(op.passes, engine.pass);
  engine.created(op, roots);
  return op;
}

/// Follows what each lineage of the root uses.
void Build::findWays() {
  ways.resize(lineage::count(*roots.front()));
  for (auto [i, way] : llvm::enumerate(ways)) {
    for (const Operator *root : roots)
      way[root] = static_cast<uint32_t>(i);
    for (const Operator *op : consumed)
      for (auto [k, use] : llvm::enumerate(op->operands()))
        if (const Operator *producer = use.get() ? use.get()->producer() : nullptr;
            producer && isOwn(*producer, consumed))
          way.try_emplace(producer, lineage::ofOperand(*op, way.lookup(op), static_cast<unsigned>(k)));
  }
}

/// That which a lineage of the root has of an operand of what is consumed, or of what was made here for it.
uint32_t Build::lineageOf(const Value &operand, uint32_t way) const {
  if (made.contains(&operand) || maker(&operand))
    return way;
  for (const Operator *op : consumed)
    for (auto [i, use] : llvm::enumerate(op->operands()))
      if (use.get() == &operand)
        return lineage::ofOperand(*op, ways[way].lookup(op), static_cast<unsigned>(i));
  return 0;
}

IdSet Build::originsOf(const Operator &op, uint32_t way) const { return lineage::origins(op, ways[way].lookup(&op)); }

/// By lineage of the root: what the constants and those operators were that count and have one of them as operand.
std::vector<Lineage> Build::parentsOf(const Made &from, llvm::function_ref<bool(const Operator &)> counts) const {
  std::vector<Lineage> all;
  for (uint32_t way = 0; way < ways.size(); ++way) {
    Lineage &one = all.emplace_back();
    for (const Value *parent : from.parents) {
      Lineage own = lineage::parents(*parent, lineageOf(*parent, way));
      one.tensors = model.sets.join(one.tensors, own.tensors);
      one.operators = model.sets.join(one.operators, own.operators);
      for (const Operator *op : consumed)
        if (llvm::any_of(op->operands(), [&](const Use &use) { return use.get() == parent; }) && counts(*op))
          one.operators = model.sets.join(one.operators, originsOf(*op, way));
    }
  }
  return all;
}

/// What a constant was computed from: the constants whose numbers are in it, and the operators that had them as
/// operands and are not what it is now an operand of.
void Build::stampConstant(Value &constant) {
  const Made &from = made[&constant];
  auto feeds = [&](const Value &value, const Operator &op, auto &&feeds) -> bool {
    bool base = false;
    value.forEachUse([&](Use &use) {
      for (const Created &item : created)
        if (item.op == use.user()) // through a bridge too
          base |= isOwn(op, item.originals) || (item.synthetic && feeds(*item.op->result(), op, feeds));
    });
    return base;
  };
  auto isBase = [&](const Operator &op) { return feeds(constant, op, feeds); };
  engine.describeParents(constant, parentsOf(from, [&](const Operator &op) { return !isBase(op); }));
  for (uint32_t way = 0; from.base && way < ways.size(); ++way)
    for (Relation relation : lineage::relations(*from.base, lineageOf(*from.base, way))) {
      if (!model.steps.extend(relation.steps, from.steps))
        continue;
      relation.exact &= from.exact;
      relation.lineage = way;
      constant.relations.push_back(relation);
    }
  constant.inexact = !from.exact;
  mutation::derived(model, constant);
  mutation::related(model, constant);
  if (constant.relations.empty())
    constant.noRelation = from.literal ? "synthetic" : "approximated";
  if (constant.sourceTensors.empty() && constant.sourceOperators.empty())
    constant.synthetic = reasonName(SyntheticReason::InventedConstant);
}

/// A movement that was put behind: what it moves is the tensor that stands behind it, moved back.
void Build::relateMoved() {
  for (const Replaced &item : replaced) {
    Operator *op = item.old->producer();
    Value *inner = op && op->info()->has(Trait::DataMovement) ? op->operand(0) : nullptr;
    bool own = inner && inner->producer() &&
               llvm::any_of(created, [&](const Created &c) { return c.op == inner->producer() && c.op != op; });
    if (!own || !inner->relations.empty() || ways.size() > 1)
      continue;
    // What other rewrites brought to the tensor may have been computed by operators that this one does not stand for.
    const Relation *known = llvm::find_if(item.old->relations, [&](const Relation &relation) {
      int32_t maker = model.sourceGraph.producer(relation.tensor);
      return maker >= 0 && model.sets.contains(inner->producer()->origins, maker);
    });
    if (known == item.old->relations.end())
      continue;
    Step back{Step::Reshape};
    if (op->code == Op::TRANSPOSE) {
      auto permutation = readIntegers(op->operand(1));
      if (!permutation)
        continue;
      back.kind = Step::Permute;
      back.first.resize(permutation->size());
      for (auto [i, axis] : llvm::enumerate(*permutation))
        back.first[axis] = i;
    } else if (op->code != Op::RESHAPE && op->code != Op::SQUEEZE && op->code != Op::EXPAND_DIMS) {
      continue;
    }
    Relation relation = *known;
    if (!model.steps.extend(relation.steps, back))
      continue;
    inner->relations.push_back(relation);
    inner->noRelation.clear();
  }
}

/// `stored` holds the numbers of `real`, rounded.
void Build::relateAs(Value &stored, const Value &real, llvm::function_ref<uint32_t(uint32_t)> lineageOf) {
  bool toFloat = stored.type == TensorType::FLOAT32;
  for (uint32_t way = 0; way < ways.size(); ++way)
    for (Relation relation : real.relations) {
      if (relation.lineage != lineageOf(way) ||
          !model.steps.extend(relation.steps, Step{toFloat ? Step::Cast : Step::Quantize}))
        continue;
      relation.exact = false;
      relation.lineage = way;
      stored.relations.push_back(relation);
    }
  if (!stored.relations.empty())
    stored.noRelation.clear();
  mutation::related(model, stored);
}

/// What stands behind a bridge is the tensor before it, in another form. A bridge that has the place of the source's
/// result gives its name to what it is made of, unless the model's interface needs that.
void Build::relateStored() {
  for (Created &item : created) {
    if (!item.synthetic || *item.synthetic != SyntheticReason::QuantizeBorder)
      continue;
    Value *from = item.op->operand(0), *to = item.op->result();
    llvm::StringRef suffix = item.op->code == Op::QUANTIZE ? "_Quantize" : "_Dequantize",
                    other = item.op->code == Op::QUANTIZE ? "_Dequantize" : "_Quantize";
    if (from && to->relations.empty()) {
      relateAs(*to, *from, [&](uint32_t way) { return this->lineageOf(*from, way); });
      llvm::StringRef name = from->name;
      name.consume_back(other);
      to->name = model.copy((name + suffix).str());
    } else if (from && from->producer() && from->relations.empty()) {
      relateAs(*from, *to, [](uint32_t way) { return way; });
      llvm::StringRef name = to->name;
      (to->isInterface() ? from : to)->name = model.copy((name + (to->isInterface() ? other : suffix)).str());
      if (!to->isInterface())
        from->name = name;
    }
  }
}

void Build::apply() {
  std::optional<RewriteEvent> event = engine.describe(consumed, where);
  ++model.rewrites;
  match.applied = true;
  engine.region = consumed;
  findWays();
  Fate fate = fateOf();
  Operator &first = **llvm::min_element(roots, [](auto *a, auto *b) { return a->index < b->index; });
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
    root.resultValues[item.old->resultIndex()] = nullptr;
    for (Created &other : created)
      for (Use &use : other.op->operands())
        if (use.value == item.with)
          use.value = item.old;
    unsigned position = item.with->definerResult;
    maker->op->resultValues[position] = item.old;
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
  relateScaled();
  for (Value *constant : constants)
    if (!constant->unused())
      stampConstant(*constant);
  relateStored();
  for (const Replaced &item : taken)
    if (made.contains(item.with)) {
      std::vector<Lineage> parents = parentsOf(made[item.with], [](const Operator &) { return true; });
      for (auto [way, one] : llvm::enumerate(parents))
        for (const Operator *op : consumed)
          one.operators = model.sets.join(one.operators, originsOf(*op, static_cast<uint32_t>(way)));
      engine.becomeConstant(*item.old, *item.with, parents, made[item.with].exact, *into);
    } else {
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
        engine.carried[parent] = constant->sourceTensors;
  engine.retire(heirsOf, roots.size(), makes, fate);
  engine.carried.clear();
  // Of equal operators that are one, and stay for the others, that which the region used is gone.
  for (Operator *op : llvm::ArrayRef(consumed).drop_front(roots.size()))
    if (created.empty() && !op->erased() && lineage::count(*op) > 1)
      for (uint32_t way = 0; way < ways.size(); ++way)
        engine.bury(false, originsOf(*op, way), fate, into);
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
  engine.onRewrite(*event);
}

} // namespace origo::rewrite
