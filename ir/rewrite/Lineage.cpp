#include "ir/rewrite/Lineage.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace origo {

unsigned lineage::count(const Operator &op) { return std::max<unsigned>(op.lineages().size(), 1); }
unsigned lineage::count(const Value &constant) { return std::max<unsigned>(constant.lineages().size(), 1); }

IdSet lineage::origins(const Operator &op, uint32_t lineage) {
  return op.lineages().empty() ? op.origins : op.lineages()[lineage].operators;
}

uint32_t lineage::ofOperand(const Operator &op, uint32_t lineage, unsigned operand) {
  return op.lineages().empty() ? op.operands()[operand].lineage : op.lineages()[lineage].operands[operand];
}

Lineage lineage::parents(const Value &constant, uint32_t lineage) {
  return constant.lineages().empty() ? Lineage{constant.sourceOperators, constant.sourceTensors}
                                    : constant.lineages()[lineage];
}

llvm::ArrayRef<Relation> lineage::relations(const Value &constant, uint32_t lineage) {
  if (constant.lineages().empty())
    return constant.relations;
  // In the order of lineages: see add().
  const Relation *first =
      llvm::partition_point(constant.relations, [&](const Relation &r) { return r.lineage < lineage; });
  const Relation *last = first;
  while (last != constant.relations.end() && last->lineage == lineage)
    ++last;
  return {first, last};
}

static std::vector<Lineage> &listed(Operator &op) {
  std::vector<Lineage> &list = op.makeLineages();
  if (list.empty()) {
    list.push_back({op.origins, {}});
    for (const Use &use : op.operands())
      list.back().operands.push_back(use.lineage);
  }
  return list;
}

/// The first and the last are looked at: many equals are mostly of one kind, or all different.
static uint32_t place(std::vector<Lineage> &list, Lineage added) {
  auto same = [&](const Lineage &one) {
    return one.operators == added.operators && one.tensors == added.tensors && one.operands == added.operands;
  };
  if (same(list.front()))
    return 0;
  if (!same(list.back()))
    list.push_back(std::move(added));
  return static_cast<uint32_t>(list.size() - 1);
}

llvm::SmallVector<uint32_t, 2> lineage::add(Operator &survivor, const Operator &twin, bool swapped) {
  std::vector<Lineage> &list = listed(survivor);
  llvm::SmallVector<uint32_t, 2> numbers;
  for (uint32_t i = 0; i < count(twin); ++i) {
    Lineage added{origins(twin, i), {}};
    for (unsigned operand = 0; operand < twin.numOperands(); ++operand) {
      unsigned from = swapped ? 1 - operand : operand;
      bool isSame = twin.operand(from) == survivor.operand(operand); // else it is another constant, equal to this one
      added.operands.push_back(isSame ? ofOperand(twin, i, from) : ofOperand(survivor, 0, operand));
    }
    numbers.push_back(place(list, std::move(added)));
  }
  return numbers;
}

llvm::SmallVector<uint32_t, 2> lineage::add(Value &survivor, const Value &duplicate) {
  std::vector<Lineage> &list = survivor.makeLineages();
  if (list.empty())
    list.push_back({survivor.sourceOperators, survivor.sourceTensors});
  llvm::SmallVector<uint32_t, 2> numbers;
  for (uint32_t i = 0; i < count(duplicate); ++i)
    numbers.push_back(place(list, parents(duplicate, i)));
  return numbers;
}

void lineage::forget(Model &model) {
  for (auto &graph : model.subgraphs) {
    for (Operator &op : graph->operators) {
      op.clearLineages();
      for (Use &use : op.operands())
        use.lineage = 0;
    }
    for (Value *value : graph->values) {
      value->clearLineages();
      for (Relation &relation : value->relations)
        relation.lineage = 0;
    }
  }
}

namespace {

/// Tells apart again what has become one, by what it equals in the source and who used that there.
class Restorer {
public:
  explicit Restorer(Model &model) : model(model), source(model.sourceGraph), sets(model.sets) {}

  void run() {
    disclaim();
    for (auto &graph : model.subgraphs) {
      for (Value *value : graph->values)
        tellApart(*value);
      for (Operator &op : graph->operators)
        if (!tellApart(op))
          number(op);
    }
  }

private:
  Model &model;
  const SourceGraph &source;
  IdSets &sets;
  llvm::DenseMap<std::pair<const Value *, uint32_t>, uint32_t> numbers; ///< value of several lineages, source tensor
  llvm::DenseSet<const Value *> several;
  using Ids = llvm::SmallVector<uint32_t, 4>;

  /// Where operand and result of an operator of the source are equal to one tensor, it was nothing there. What claimed it
  /// for that, as Rewriter::claimWork does in the end, claims it anew if it is so then.
  void disclaim() {
    std::vector<std::pair<Operator *, uint32_t>> claims;
    for (auto &graph : model.subgraphs)
      for (Operator &op : graph->operators) {
        const Value *result = op.results().size() == 1 ? op.result() : nullptr;
        if (!result || result->relations.size() < 2)
          continue;
        llvm::SmallDenseSet<int64_t, 4> equals;
        for (const Relation &relation : result->relations)
          if (relation.steps == 0)
            equals.insert(static_cast<int32_t>(relation.tensor));
        for (int32_t tensor : equals)
          if (int32_t maker = source.producer(tensor); maker >= 0 && sets.contains(op.origins, maker))
            if (auto operands = source.operands(maker); !operands.empty() && equals.contains(operands[0]))
              claims.emplace_back(&op, maker);
      }
    for (auto [op, id] : claims)
      op->origins = sets.minus(op->origins, sets.single(id));
    if (claims.empty())
      return;
    std::vector<bool> live = lineage::liveOperators(model);
    for (auto [op, id] : claims)
      if (!live[id] || op->origins.empty())
        op->origins = sets.join(op->origins, sets.single(id));
  }

  void sayBy(Value &value, Relation &relation, uint32_t lineage) {
    relation.lineage = lineage;
    numbers.try_emplace({&value, relation.tensor}, lineage);
  }

  /// Constants that were none but themselves. What was folded into one is in all of its lineages, so it stays one.
  void tellApart(Value &value) {
    if (!value.isConstant() || value.relations.size() < 2 || !value.sourceOperators.empty() ||
        llvm::any_of(value.relations, [&](const Relation &one) { return source.producer(one.tensor) >= 0; }))
      return;
    llvm::SmallVector<uint32_t> ids;
    for (const Relation &relation : value.relations)
      ids.push_back(relation.tensor);
    IdSet others = sets.minus(value.sourceTensors, sets.of(ids));
    std::vector<Lineage> &list = value.makeLineages();
    for (Relation &relation : value.relations) {
      sayBy(value, relation, static_cast<uint32_t>(list.size()));
      list.push_back({{}, sets.join(sets.single(relation.tensor), others)});
    }
    several.insert(&value);
  }

  static constexpr size_t nearby = 32; ///< tensors of the source that are looked at around one

  /// Its last own operator on the way to a source tensor; what comes behind it there was nothing.
  std::optional<uint32_t> endOf(const Operator &op, uint32_t tensor) const {
    std::optional<uint32_t> end;
    source.walkBack(tensor, nearby, [&](uint32_t before) {
      if (int32_t maker = source.producer(before); maker >= 0 && sets.contains(op.origins, maker))
        end = maker;
      return end.has_value();
    });
    return end;
  }

  /// Equal operators have been one where the result equals tensors that do not come of each other.
  bool tellApart(Operator &op) {
    Value *result = op.results().size() == 1 ? op.result() : nullptr;
    if (!result || result->relations.size() < 2)
      return false;
    llvm::SmallVector<uint32_t> ends;
    for (const Relation &relation : result->relations) {
      std::optional<uint32_t> end = endOf(op, relation.tensor);
      if (!end)
        return tellMovedApart(op);
      ends.push_back(*end);
    }
    llvm::SmallVector<uint32_t> distinct = ends;
    llvm::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() < 2)
      return tellMovedApart(op);
    size_t budget = 256 + 16 * distinct.size();
    std::vector<Ids> ways;
    for (uint32_t end : distinct) {
      Ids &way = ways.emplace_back(1, end);
      for (size_t i = 0; i < way.size(); ++i)
        for (int32_t tensor : source.operands(way[i]))
          if (std::optional<uint32_t> before = tensor < 0 ? std::nullopt : endOf(op, tensor);
              before && !llvm::is_contained(way, *before)) {
            if (budget-- == 0)
              return false;
            way.push_back(*before);
          }
    }
    llvm::DenseMap<uint64_t, uint32_t> lineageOf; ///< by end
    std::vector<Lineage> list;
    llvm::SmallVector<uint32_t> all;
    for (auto [end, way] : llvm::zip(distinct, ways)) {
      all.append(way.begin(), way.end());
      lineageOf[end] = static_cast<uint32_t>(list.size());
      list.push_back({sets.of(way), {}});
      for (const Use &use : op.operands())
        list.back().operands.push_back(numberOf(use, way));
    }
    for (Lineage &one : list)
      one.operators = sets.join(one.operators, sets.minus(op.origins, sets.of(all)));
    for (auto [relation, end] : llvm::zip(result->relations, ends))
      sayBy(*result, relation, lineageOf.lookup(end));
    finish(op, std::move(list));
    return true;
  }

  /// What is moved of equals that are told apart, and is related to the same tensors as they, is told apart as they are.
  bool tellMovedApart(Operator &op) {
    Value &result = *op.result();
    for (const Use &moved : op.operands()) {
      if (!several.contains(moved.get()))
        continue;
      llvm::MapVector<uint32_t, uint32_t> lineageOf; ///< by the operand's
      Ids found;
      for (const Relation &relation : result.relations) {
        auto known = numbers.find({moved.get(), relation.tensor});
        if (known == numbers.end())
          break;
        found.push_back(lineageOf.insert({known->second, static_cast<uint32_t>(lineageOf.size())}).first->second);
      }
      if (found.size() != result.relations.size() || lineageOf.size() < 2)
        continue;
      number(op);
      std::vector<Lineage> list;
      for (auto [before, lineage] : lineageOf) {
        list.push_back({op.origins, {}});
        for (const Use &use : op.operands())
          list.back().operands.push_back(&use == &moved ? before : use.lineage);
      }
      for (auto [relation, lineage] : llvm::zip(result.relations, found))
        sayBy(result, relation, lineage);
      finish(op, std::move(list));
      return true;
    }
    return false;
  }

  void finish(Operator &op, std::vector<Lineage> list) {
    Value &result = *op.result();
    llvm::stable_sort(result.relations, [](const Relation &a, const Relation &b) { return a.lineage < b.lineage; });
    for (auto [use, lineage] : llvm::zip(op.operands(), list.front().operands))
      use.lineage = lineage;
    op.makeLineages() = std::move(list);
    several.insert(&result);
  }

  void number(Operator &op) {
    if (llvm::none_of(op.operands(), [&](const Use &use) { return several.contains(use.get()); }))
      return;
    constexpr size_t farthest = 64;
    Ids origins; // what makes the result there before what comes before that
    for (const Value *result : op.results())
      for (const Relation &relation : result ? llvm::ArrayRef<Relation>(result->relations) : llvm::ArrayRef<Relation>())
        if (int32_t maker = source.producer(relation.tensor);
            maker >= 0 && origins.size() < farthest && sets.contains(op.origins, maker))
          origins.push_back(maker);
    for (auto id = sets.next(op.origins, 0); id && origins.size() < farthest; id = sets.next(op.origins, *id + 1))
      origins.push_back(*id);
    for (Use &use : op.operands())
      use.lineage = numberOf(use, origins);
  }

  /// The lineage of a value that these operators of the source had as this operand, or as another one, or behind operators
  /// that work elsewhere now.
  uint32_t numberOf(const Use &use, llvm::ArrayRef<uint32_t> users) const {
    const Value *value = use.get();
    if (!several.contains(value))
      return 0;
    uint32_t number = 0;
    auto isKnown = [&](uint32_t tensor) {
      auto known = numbers.find({value, tensor});
      number = known == numbers.end() ? number : known->second;
      return known != numbers.end();
    };
    for (uint32_t user : users)
      if (llvm::ArrayRef<int32_t> operands = source.operands(user); use.operandIndex() < operands.size())
        if (int32_t tensor = operands[use.operandIndex()]; tensor >= 0 && isKnown(tensor))
          return number;
    for (size_t most : {size_t{1}, nearby}) {
      unsigned left = 256; // operators of many operands
      for (uint32_t user : users)
        for (int32_t tensor : source.operands(user).take_front(left)) {
          --left;
          if (tensor >= 0 && source.walkBack(tensor, most, isKnown))
            return number;
        }
    }
    return 0;
  }
};

} // namespace

std::vector<bool> lineage::liveOperators(const Model &model) {
  std::vector<bool> live(model.sourceOperators);
  IdSets::Walked walked;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      model.sets.forEachNewRun(op.origins, walked, [&](uint32_t begin, uint32_t end) {
        std::fill(live.begin() + begin, live.begin() + std::min<size_t>(end, live.size()), true);
      });
  return live;
}

namespace {

/// By source id, the number of the last tombstone of this run that says where it went. A duplicate has not gone yet.
std::vector<uint32_t> tombstonesOf(const Model &model, bool tensors) {
  std::vector<uint32_t> stones(tensors ? model.sourceTensors : model.sourceOperators, ~0u);
  IdSets::Walked walked;
  for (size_t i = model.tombstones.size(); i--;)
    if (const Tombstone &stone = model.tombstones[i];
        stone.ofTensors == tensors && stone.run == model.run && stone.fate != Fate::Dead &&
        stone.fate != Fate::DuplicateOf)
      model.sets.forEachNewRun(stone.ids, walked, [&](uint32_t begin, uint32_t end) {
        for (uint32_t id = begin; id < std::min<size_t>(end, stones.size()); ++id)
          if (stones[id] == ~0u)
            stones[id] = static_cast<uint32_t>(i);
      });
  return stones;
}

/// Which lineages of a value somebody uses.
std::vector<bool> usedLineages(Value &value, size_t count) {
  std::vector<bool> used(count);
  value.forEachUse([&](Use &use) {
    used[use.lineage] = true;
    for (const Lineage &one : use.user()->lineages())
      used[one.operands[use.operandIndex()]] = true;
  });
  return used;
}

} // namespace

void lineage::dropUnused(Model &model) {
  std::vector<uint32_t> stones[2];
  auto stoneOf = [&](bool tensors, uint32_t id) {
    if (stones[tensors].empty())
      stones[tensors] = tombstonesOf(model, tensors);
    return stones[tensors][id];
  };
  auto isGone = [&](bool tensors, IdSet ids) {
    bool gone = true;
    model.sets.forEach(ids, [&](uint32_t id) { gone = gone && stoneOf(tensors, id) != ~0u; });
    return gone;
  };
  auto drop = [&](Value &value, bool tensors, IdSet &all, llvm::ArrayRef<Lineage> lineages) {
    std::vector<bool> used = usedLineages(value, lineages.size());
    IdSet kept;
    for (auto [i, one] : llvm::enumerate(lineages)) {
      IdSet ids = tensors ? one.tensors : one.operators;
      used[i] = used[i] || !isGone(tensors, ids);
      if (used[i])
        kept = model.sets.join(kept, ids);
    }
    if (llvm::all_of(used, [](bool one) { return one; }) || llvm::none_of(used, [](bool one) { return one; }))
      return false;
    for (const Relation &relation : value.relations) {
      if (used[relation.lineage] || (tensors && stoneOf(true, relation.tensor) != ~0u))
        continue;
      // What it was equal to went where what makes it went; of what was computed ahead of time, that is what it was computed
      // from.
      int32_t maker = model.sourceGraph.producer(relation.tensor);
      std::optional<uint32_t> from = tensors ? model.sets.next(lineages[relation.lineage].tensors, 0)
                                     : maker < 0 ? std::nullopt
                                                 : std::optional<uint32_t>(maker);
      if (!from || stoneOf(tensors, *from) == ~0u)
        return false;
      Tombstone stone = model.tombstones[stoneOf(tensors, *from)];
      stone.ofTensors = true;
      stone.ids = model.sets.single(relation.tensor);
      model.tombstones.push_back(stone);
    }
    all = kept;
    llvm::erase_if(value.relations, [&](const Relation &one) { return !used[one.lineage]; });
    return true;
  };
  for (auto &graph : model.subgraphs) {
    for (Value *value : graph->values)
      if (!value->lineages().empty() && value->isConstant() && value->otherUses == 0 && !value->unused() &&
          drop(*value, true, value->sourceTensors, value->lineages())) {
        if (value->sourceTensors.empty() && value->sourceOperators.empty())
          value->setSynthetic(reasonName(SyntheticReason::InventedConstant));
        if (value->relations.empty())
          value->noRelation = value->synthetic().empty() ? NoRelation::Approximated : NoRelation::Synthetic;
      }
    for (Operator &op : graph->operators) {
      Value *result = op.results().size() == 1 ? op.result() : nullptr;
      if (!op.lineages().empty() && result && result->otherUses == 0 && !result->unused() &&
          drop(*result, false, op.origins, op.lineages()) && result->relations.empty())
        result->noRelation = NoRelation::NewIntermediate;
    }
  }
}

void lineage::restore(Model &model) {
  if (model.sourceGraph.known())
    Restorer(model).run();
}

void lineage::renumber(Use &use, llvm::function_ref<uint32_t(uint32_t)> number) {
  use.lineage = number(use.lineage);
  Operator &user = *use.user();
  if (!user.lineages().empty())
    for (Lineage &one : user.makeLineages()) {
      uint32_t &operand = one.operands[use.operandIndex()];
      operand = &one == &user.makeLineages().front() ? use.lineage : number(operand);
    }
}

} // namespace origo
