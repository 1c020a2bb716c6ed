#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/rewrite/Rewriter.h"
#include "schema/OperatorFacts.h"

#include "llvm/ADT/STLExtras.h"

/// Which work of the source each operator has done, as can be told when all is in its place.
namespace origo {

/// The relation is of another lineage from now on, and so is what those use who do the work of an operator of the
/// source that was given this tensor, and of none that may be in front of it: operators of a source are in order.
static void useAs(Model &model, Value &value, Relation &relation, uint32_t lineage) {
  const uint32_t before = relation.lineage;
  relation.lineage = lineage;
  value.forEachUse([&](Use &use) {
    Operator &user = *use.user();
    auto renumber = [&](uint32_t &used, IdSet own) {
      bool wasGiven = false;
      int32_t maker = model.sourceGraph.producer(relation.tensor);
      if (auto first = model.sets.next(own, 0); used == before && first && static_cast<int32_t>(*first) > maker)
        model.sets.forEach(own, [&](uint32_t id) {
          wasGiven |= llvm::is_contained(model.sourceGraph.operands(id), static_cast<int32_t>(relation.tensor));
        });
      if (wasGiven)
        used = lineage;
    };
    if (user.lineages().empty())
      return renumber(use.lineage, user.origins);
    for (Lineage &one : user.makeLineages())
      renumber(one.operands[use.operandIndex()], one.operators);
    use.lineage = user.lineages().front().operands[use.operandIndex()];
  });
}

/// Who makes a source tensor does the work of the operator that made it, if that lives on at all: what it did may be
/// nothing here, and something in an operator that was made of it for another user. Where the result equals another
/// tensor as well, that one is without this work, and has a lineage of its own. That it is another one but for some
/// steps goes unsaid where that one itself is there. What was an identity is looked through.
void Rewriter::claimWork() {
  std::vector<bool> live = lineage::liveOperators(model), whole(model.sourceTensors);
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      for (const Relation &relation : value->relations)
        if (relation.steps == 0)
          whole[relation.tensor] = true;
  std::vector<bool> identity(model.sourceOperators);
  for (const Tombstone &row : model.tombstones)
    if (!row.ofTensors && row.fate == Fate::Identity)
      model.sets.forEach(row.ids, [&](uint32_t id) { identity[id] = !live[id]; });
  auto makerOf = [&](uint32_t tensor) {
    int32_t maker = model.sourceGraph.producer(tensor);
    for (unsigned length = 0; length < 64 && maker >= 0 && identity[maker]; ++length) {
      llvm::SmallVector<int32_t, 2> before; // of several operands that are computed, nobody knows which
      for (int32_t operand : model.sourceGraph.operands(maker))
        if (int32_t producer = operand < 0 ? -1 : model.sourceGraph.producer(operand); producer >= 0)
          before.push_back(producer);
      maker = before.size() == 1 ? before.front() : -1;
    }
    return maker;
  };
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      for (Value *result : op.results()) {
        size_t relations = result ? result->relations.size() : 0;
        std::optional<uint32_t> kept; // the lineage of the last one that stays in its own: they are sorted by it
        for (size_t i = 0; i < relations; ++i) {
          Relation &relation = result->relations[i];
          int32_t maker = relation.steps == 0 ? makerOf(relation.tensor) : model.sourceGraph.producer(relation.tensor);
          bool apart =
              kept == relation.lineage || (i + 1 < relations && result->relations[i + 1].lineage == relation.lineage);
          if (maker < 0 || op.origins.empty() || static_cast<size_t>(maker) >= live.size() || !live[maker] ||
              model.sets.contains(lineage::origins(op, relation.lineage), maker) || madeBefore(op, maker)) {
            kept = uint32_t(relation.lineage);
            continue;
          }
          if (relation.steps != 0 && whole[relation.tensor]) {
            result->relations.erase(&relation, &relation + 1);
            --i, --relations;
            continue;
          }
          IdSet claimed = model.sets.single(maker);
          auto isGiven = [&](uint32_t id) {
            return llvm::any_of(op.operands(), [&](const Use &use) {
              return use.get() && use.get()->producer() && model.sets.contains(use.get()->producer()->origins, id);
            });
          };
          for (uint32_t before : madeBetween(op, maker))
            if (relation.steps == 0 && live[before] && !isGiven(before))
              claimed = model.sets.join(claimed, model.sets.single(before));
          IdSet own = model.sets.join(lineage::origins(op, relation.lineage), claimed);
          if (apart)
            useAs(model, *result, relation, lineage::addLike(op, relation.lineage, own));
          else if (!op.lineages().empty())
            op.makeLineages()[relation.lineage].operators = own;
          op.origins = model.sets.join(op.origins, claimed);
          mutation::joined(model, op.origins);
        }
        if (result)
          sortByLineage(*result);
      }
}

/// Who moves data as several operators of the source do in a row has done what they did: those before the last one, up
/// to what the operator is given, or makes itself.
llvm::SmallVector<uint32_t, 4> Rewriter::madeBetween(const Operator &op, uint32_t last) const {
  llvm::SmallVector<uint32_t, 4> between;
  const Value *data = onlyMoves(op.info()) ? op.operand(0) : nullptr;
  for (unsigned length = 0; length < 64; ++length) {
    llvm::ArrayRef<int32_t> operands = model.sourceGraph.operands(last);
    if (operands.empty() || operands[0] < 0)
      return {};
    auto tensor = static_cast<uint32_t>(operands[0]);
    if (data &&
        llvm::any_of(data->relations, [&](const Relation &one) { return one.tensor == tensor && one.steps == 0; }))
      return between;
    int32_t maker = model.sourceGraph.producer(tensor);
    if (maker >= 0 && model.sets.contains(op.origins, maker))
      return between;
    if (maker < 0)
      return {};
    between.push_back(last = static_cast<uint32_t>(maker));
  }
  return {};
}

/// Is it done by what the moved data comes from, or by a maximum that traded places with the operator?
bool Rewriter::madeBefore(const Operator &op, uint32_t id) const {
  if (const Operator *pool = has(op.info(), Trade::Monotone) && op.operand(0) ? op.operand(0)->producer() : nullptr;
      pool && pool->code == BuiltinOperator::MAX_POOL_2D && model.sets.contains(pool->origins, id))
    return true;
  const Operator *at = &op;
  for (unsigned length = 0; length < 64; ++length) {
    if (!onlyMoves(at->info()))
      return false;
    const Value *data = at->operand(at->code == BuiltinOperator::SPLIT ? 1 : 0);
    at = data ? data->producer() : nullptr;
    if (at ? model.sets.contains(at->origins, id) : data && model.sets.contains(data->sourceOperators, id))
      return true;
    if (!at)
      return false;
  }
  return true; // behind more movements than are looked through, nothing is claimed
}

/// Of a work that begins and ends with movements, these may have met behind what it makes: then who had taken in the
/// end of it is given the result, or that but for what undoes the end, and has nothing of the work any more.
IdSet Rewriter::doneInFront(const Operator &op, uint32_t lineage) const {
  const IdSet own = lineage::origins(op, lineage);
  const Operator *at = &op;
  IdSet shared = own; // by the movements in between
  for (unsigned length = 0; length < 16; ++length) {
    const Use *data = nullptr;
    for (const Use &use : at->operands())
      if (use.get() && !use.get()->isConstant() && std::exchange(data, &use))
        return {};
    if (!data || !data->get()->producer())
      return {};
    lineage = lineage::ofOperand(*at, lineage, data->operandIndex());
    at = data->get()->producer();
    std::optional<int32_t> first; // of several tensors that it equals, who made the one that is in front
    for (const Relation &relation : data->get()->relations)
      if (int32_t maker = model.sourceGraph.producer(relation.tensor); relation.lineage == lineage && !relation.steps)
        first = std::min(first.value_or(maker), maker);
    if (!first && onlyMoves(at->info())) {
      shared = model.sets.minus(shared, model.sets.minus(own, lineage::origins(*at, lineage)));
      continue;
    }
    if (first.value_or(-1) < 0 || !model.sets.contains(shared, *first) ||
        !model.sets.contains(lineage::origins(*at, lineage), *first))
      return {};
    bool makes = llvm::any_of(op.results(), [&](const Value *result) {
      return result && llvm::any_of(result->relations, [&](const Relation &relation) {
               return model.sourceGraph.producer(relation.tensor) == *first;
             });
    });
    IdSet done = model.sets.single(static_cast<uint32_t>(*first));
    return makes || done == own ? IdSet() : done;
  }
  return {};
}

void Rewriter::forgetDone() {
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      IdSet all;
      for (uint32_t way = 0; way < lineage::count(op); ++way) {
        IdSet left = model.sets.minus(lineage::origins(op, way), doneInFront(op, way));
        if (!op.lineages().empty())
          op.makeLineages()[way].operators = left;
        all = model.sets.join(all, left);
      }
      op.origins = all;
    }
}

} // namespace origo
