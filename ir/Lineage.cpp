#include "ir/Lineage.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace origo {

unsigned lineage::count(const Operator &op) { return std::max<unsigned>(op.lineages().size(), 1); }
unsigned lineage::count(const Value &value) {
  return value.producer() ? count(*value.producer()) : std::max<unsigned>(value.lineages().size(), 1);
}

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
  if (list.size() == 1) // they were the same
    survivor.clearLineages();
  return numbers;
}

llvm::SmallVector<uint32_t, 2> lineage::add(Value &survivor, const Value &duplicate) {
  std::vector<Lineage> &list = survivor.makeLineages();
  if (list.empty())
    list.push_back({survivor.sourceOperators, survivor.sourceTensors});
  llvm::SmallVector<uint32_t, 2> numbers;
  for (uint32_t i = 0; i < count(duplicate); ++i)
    numbers.push_back(place(list, parents(duplicate, i)));
  if (list.size() == 1) // they were the same
    survivor.clearLineages();
  return numbers;
}

uint32_t lineage::addLike(Operator &op, uint32_t lineage, IdSet origins) {
  std::vector<Lineage> &list = listed(op);
  Lineage added = list[lineage];
  added.operators = origins;
  return place(list, std::move(added));
}

/// By the first members that differ.
static int compare(const IdSets &sets, IdSet a, IdSet b) {
  if (a == b)
    return 0;
  auto i = sets.next(a, 0), j = sets.next(b, 0);
  while (i && j && *i == *j)
    i = sets.next(a, *i + 1), j = sets.next(b, *j + 1);
  return !i || !j ? int(i.has_value()) - int(j.has_value()) : *i < *j ? -1 : 1;
}

/// Sorts the list; gives the new number of each. Empty: they are as they were.
static std::vector<uint32_t> sort(const IdSets &sets, std::vector<Lineage> &list) {
  auto order = [&](const Lineage &a, const Lineage &b) {
    int before = compare(sets, a.operators, b.operators);
    before = before ? before : compare(sets, a.tensors, b.tensors);
    return before ? before < 0 : a.operands < b.operands;
  };
  std::vector<uint32_t> sorted(list.size()), numbers(list.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  llvm::stable_sort(sorted, [&](uint32_t a, uint32_t b) { return order(list[a], list[b]); });
  std::vector<Lineage> result;
  for (uint32_t from : sorted) {
    if (result.empty() || order(result.back(), list[from]))
      result.push_back(list[from]);
    numbers[from] = static_cast<uint32_t>(result.size() - 1);
  }
  if (result.size() == list.size() && llvm::is_sorted(sorted))
    return {};
  list = std::move(result);
  return numbers;
}

static void renumber(Value &value, const std::vector<uint32_t> &numbers) {
  for (Relation &relation : value.relations)
    relation.lineage = numbers[relation.lineage];
  llvm::stable_sort(value.relations, [](const Relation &a, const Relation &b) { return a.lineage < b.lineage; });
  value.forEachUse([&](Use &use) { lineage::renumber(use, [&](uint32_t lineage) { return numbers[lineage]; }); });
}

void lineage::settle(Model &model) {
  for (auto &graph : model.subgraphs) {
    for (Value *value : graph->values)
      if (!value->erased() && !value->producer() && !value->lineages().empty())
        if (auto numbers = sort(model.sets, value->makeLineages()); !numbers.empty()) {
          origo::renumber(*value, numbers);
          if (value->lineages().size() == 1)
            value->clearLineages();
        }
    for (Operator &op : graph->operators) {
      auto numbers = op.lineages().empty() ? std::vector<uint32_t>() : sort(model.sets, op.makeLineages());
      if (numbers.empty())
        continue;
      for (Use &use : op.operands())
        use.lineage = op.lineages().front().operands[use.operandIndex()];
      for (Value *result : op.results())
        if (result)
          origo::renumber(*result, numbers);
      if (op.lineages().size() == 1)
        op.clearLineages();
    }
  }
}

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
