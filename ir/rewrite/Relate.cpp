#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"
#include "ir/Lineage.h"
#include "ir/Mutation.h"

#include "llvm/ADT/STLExtras.h"

/// What came from where: by lineage, of constants, and of tensors that were moved or stored otherwise.
namespace origo::rewrite {

/// Follows what each lineage of the root uses.
void Build::findWays() {
  ways.resize(lineage::count(*roots.front()));
  for (auto [i, way] : llvm::enumerate(ways)) {
    for (const Operator *root : roots)
      way[root] = {static_cast<uint32_t>(i)};
    for (const Operator *op : consumed)
      for (auto [k, use] : llvm::enumerate(op->operands())) {
        const Operator *producer = use.get() ? use.get()->producer() : nullptr;
        if (!producer || !isOwn(*producer, consumed))
          continue;
        for (uint32_t user : lineagesOf(*op, static_cast<uint32_t>(i)))
          if (uint32_t used = lineage::ofOperand(*op, user, static_cast<unsigned>(k));
              !llvm::is_contained(way[producer], used))
            way[producer].push_back(used);
      }
  }
}

llvm::SmallVector<uint32_t, 1> Build::lineagesOf(const Operator &op, uint32_t way) const {
  auto found = ways[way].find(&op);
  return found == ways[way].end() ? llvm::SmallVector<uint32_t, 1>{0} : found->second;
}

/// That which a lineage of the root has of an operand of what is consumed, or of what was made here for it.
uint32_t Build::lineageOf(const Value &operand, uint32_t way) const {
  if (made.contains(&operand) || maker(&operand))
    return way;
  for (const Operator *op : consumed)
    for (auto [i, use] : llvm::enumerate(op->operands()))
      if (use.get() == &operand)
        return lineage::ofOperand(*op, lineagesOf(*op, way).front(), static_cast<unsigned>(i));
  return 0;
}

IdSet Build::originsOf(const Operator &op, uint32_t way) const {
  IdSet all;
  for (uint32_t one : lineagesOf(op, way))
    all = model.sets.join(all, lineage::origins(op, one));
  return all;
}

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
  if (constant.isVariable)
    return relateAs(constant, *from.base, [&](uint32_t way) { return lineageOf(*from.base, way); });
  auto feeds = [&](const Value &value, const Operator &op, auto &&feeds) -> bool {
    bool base = false;
    value.forEachUse([&](Use &use) {
      if (const Created *item = createdBy(use.user())) // through a bridge too
        base |= isOwn(op, item->originals) || (item->synthetic && feeds(*item->op->result(), op, feeds));
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
    constant.noRelation = from.literal ? NoRelation::Synthetic : NoRelation::Approximated;
  if (constant.sourceTensors.empty() && constant.sourceOperators.empty())
    constant.setSynthetic(reasonName(SyntheticReason::InventedConstant));
}

/// The tensors that it is related to.
IdSet Build::sourcesOf(const Value &related) const {
  llvm::SmallVector<uint32_t, 4> ids;
  for (const Relation &relation : related.relations)
    ids.push_back(relation.tensor);
  return model.sets.of(ids);
}

static bool isElementwise(const Operator &op) {
  return op.info() && (op.info()->has(Trait::Unary) || op.info()->has(Trait::Binary)) && op.results().size() == 1;
}

/// A movement that was put behind: what it moves is the tensor that stands behind it, moved back.
void Build::relateMoved() {
  for (const Replaced &item : replaced) {
    Operator *op = item.old->producer();
    Value *inner = op && op->info()->has(Trait::DataMovement) ? op->operand(0) : nullptr;
    bool own = inner && inner->producer() &&
               llvm::any_of(created, [&](const Created &c) { return c.op == inner->producer() && c.op != op; });
    if (!own || !inner->relations.empty())
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
    relateBack(*item.old, *inner, back);
    // So is what that is computed from, element by element.
    if (isElementwise(*inner->producer()))
      for (Use &use : inner->producer()->operands()) {
        const Created *copy = llvm::find_if(created, [&](const Created &c) { return c.op == use.get()->producer(); });
        if (copy == created.end() || copy->originals.size() != 1 || !isElementwise(*copy->op) ||
            !use.get()->relations.empty() || use.get()->shape != inner->shape)
          continue;
        if (const Value *before = copy->originals.front()->result(); before->shape == item.old->shape)
          relateBack(*before, *use.get(), back);
      }
  }
}

/// What a transpose moved that is not there any more stands where the transpose stood, moved.
void Build::relateAbsorbed() {
  for (const Replaced &item : replaced) {
    const Value *inner = item.of && item.of->code == Op::TRANSPOSE ? item.of->operand(0) : nullptr;
    auto permutation = inner && item.old->relations.empty() ? readIntegers(item.of->operand(1)) : std::nullopt;
    if (!permutation || !isOwn(*item.of, consumed))
      continue;
    Step forward{Step::Permute};
    forward.first.assign(permutation->begin(), permutation->end());
    relateBack(*inner, *item.old, forward);
  }
}

/// `moved` is `old` with one more step.
void Build::relateBack(const Value &old, Value &moved, const Step &step) {
  for (uint32_t way = 0; way < ways.size(); ++way) {
    // What other rewrites brought to the tensor may have been computed by operators that this one does not stand for.
    // Where it does for one that made it, it does for all: the others changed nothing.
    IdSet origins = lineage::origins(*moved.producer(), way);
    bool own = llvm::any_of(old.relations, [&](const Relation &relation) {
      int32_t maker = model.sourceGraph.producer(relation.tensor);
      return relation.lineage == way && maker >= 0 && model.sets.contains(origins, maker);
    });
    for (Relation relation : old.relations) {
      if (!own || relation.lineage != way)
        continue;
      relation.exact &= !engine.replacesInexact(); // what is put behind may be what was not exact
      if (model.steps.extend(relation.steps, step))
        moved.relations.push_back(relation);
    }
  }
  if (!moved.relations.empty())
    moved.noRelation = NoRelation::None;
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
    stored.noRelation = NoRelation::None;
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
      to->name = (name + suffix).str();
    } else if (from && from->producer() && from->relations.empty()) {
      relateAs(*from, *to, [](uint32_t way) { return way; });
      Name name = to->name;
      (to->isInterface() ? from : to)->name = (name.text() + (to->isInterface() ? other : suffix)).str();
      if (!to->isInterface())
        from->name = std::move(name);
    }
  }
}

} // namespace origo::rewrite
