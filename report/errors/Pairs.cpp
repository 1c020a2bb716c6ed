#include "report/errors/Pairs.h"

#include "eval/RealNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace origo::report {

namespace {

/// Position of what computes a value; graph inputs come first.
llvm::DenseMap<const Value *, size_t> executionOrder(const Model &model) {
  llvm::DenseMap<const Value *, size_t> order;
  size_t next = 1;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      for (const Value *result : op.results())
        if (result)
          order[result] = next++;
  return order;
}

bool sameShape(const Value &a, const Value &b) { return a.hasRank == b.hasRank && a.shape == b.shape; }

/// Names that one tensor of the graph has.
llvm::StringMap<const Value *> uniqueNames(const Subgraph &graph) {
  llvm::StringMap<const Value *> names;
  for (const Value *value : graph.values) {
    if (value->name.empty())
      continue;
    auto [known, isNew] = names.try_emplace(value->name, value);
    if (!isNew)
      known->second = nullptr;
  }
  return names;
}

/// What users of both models have in the same place.
std::vector<std::pair<const Value *, const Value *>> sameOutputs(const Model &source, const Model &result) {
  std::vector<std::pair<const Value *, const Value *>> same;
  for (const Signature &signature : source.signatures) {
    auto other = llvm::find_if(result.signatures, [&](const Signature &s) { return s.key == signature.key; });
    if (other == result.signatures.end())
      continue;
    for (const Signature::Entry &entry : signature.outputs)
      for (const Signature::Entry &its : other->outputs)
        if (its.name == entry.name)
          same.emplace_back(entry.value, its.value);
  }
  const auto &outputs = source.subgraphs.front()->outputs, &others = result.subgraphs.front()->outputs;
  if (outputs.size() == others.size())
    for (auto [x, y] : llvm::zip(outputs, others))
      same.emplace_back(x, y);
  llvm::erase_if(same, [](const auto &pair) { return !pair.first || !pair.second; });
  return same;
}

} // namespace

llvm::DenseSet<const Value *> outputsOf(const Model &model) {
  llvm::DenseSet<const Value *> outputs;
  if (!model.subgraphs.empty())
    outputs.insert(model.subgraphs.front()->outputs.begin(), model.subgraphs.front()->outputs.end());
  for (const Signature &signature : model.signatures)
    for (const Signature::Entry &entry : signature.outputs)
      outputs.insert(entry.value);
  outputs.erase(nullptr);
  return outputs;
}

void Pairs::pairOutputs(const Model &source, const Model &result) {
  for (auto [x, y] : sameOutputs(source, result))
    if (of(*x).empty() && sourcesOf(*y).empty())
      add(x, y);
}

void Pairs::add(const Value *source, const Value *result, llvm::SmallVector<Step, 2> steps) {
  counterparts[source].push_back({result, std::move(steps)});
  sources[result].push_back(source);
}

Pairs Pairs::of(const Imported &source, const Imported &result) {
  Pairs pairs;
  const Model &from = *source.model, &to = *result.model;
  if (source.lineage.source->fingerprint == result.lineage.source->fingerprint) {
    // By id, the tensor of `source` that is the source tensor itself.
    std::map<uint32_t, const Value *> byId;
    for (const auto &graph : from.subgraphs)
      for (const Value *value : graph->values)
        for (const Relation &relation : value->relations)
          if (relation.steps == 0)
            byId.try_emplace(relation.tensor, value);
    for (const auto &graph : to.subgraphs)
      for (const Value *value : graph->values)
        for (const Relation &relation : value->relations)
          if (auto found = byId.find(relation.tensor); found != byId.end())
            pairs.add(found->second, value, eval::withConstants(to.steps.get(relation.steps), byId));
    pairs.pairOutputs(from, to);
  } else {
    bool sameOrder = from.subgraphs.size() == to.subgraphs.size();
    for (size_t i = 0; sameOrder && i < from.subgraphs.size(); ++i)
      sameOrder = pairs.pairByOrder(*from.subgraphs[i], *to.subgraphs[i]);
    // Where the order of operators and that of outputs say different things, it is not the same network.
    sameOrder = sameOrder && llvm::all_of(sameOutputs(from, to), [&](const auto &pair) {
                  return (pairs.of(*pair.first).empty() && pairs.sourcesOf(*pair.second).empty()) ||
                         llvm::is_contained(pairs.sourcesOf(*pair.second), pair.first);
                });
    pairs.by = sameOrder ? By::Order : By::Names;
    if (!sameOrder) {
      pairs = Pairs();
      pairs.by = By::Names;
      pairs.pairOutputs(from, to);
      for (auto [graph, other] : llvm::zip(from.subgraphs, to.subgraphs))
        pairs.pairByNames(*graph, *other);
    } else {
      pairs.pairOutputs(from, to);
    }
  }
  pairs.sort(source, result);
  pairs.follow(from);
  for (const auto &graph : to.subgraphs)
    for (const Operator &op : graph->operators)
      for (const Subgraph *callee : op.callees())
        pairs.called.insert(callee);
  return pairs;
}

/// What changes how numbers are stored, and nothing else.
static bool isBridge(const Operator &op) {
  return op.code == BuiltinOperator::QUANTIZE || op.code == BuiltinOperator::DEQUANTIZE;
}

bool Pairs::pairByOrder(const Subgraph &source, const Subgraph &result) {
  std::vector<const Operator *> before;
  for (const Operator &op : source.operators)
    if (!isBridge(op))
      before.push_back(&op);
  if (source.inputs.size() != result.inputs.size() || source.outputs.size() != result.outputs.size())
    return false;
  for (auto [x, y] : llvm::zip(source.inputs, result.inputs))
    add(x, y);
  size_t next = 0;
  for (const Operator &op : result.operators) {
    if (isBridge(op)) {
      if (op.operand(0) && op.result())
        for (const Value *value : std::vector<const Value *>(sourcesOf(*op.operand(0))))
          add(value, op.result());
      continue;
    }
    if (next == before.size() || before[next]->opName() != op.opName() ||
        before[next]->results().size() != op.results().size())
      return false;
    for (auto [x, y] : llvm::zip(before[next]->results(), op.results()))
      if (x && y)
        add(x, y);
    ++next;
  }
  return next == before.size() && next > 0;
}

void Pairs::pairByNames(const Subgraph &source, const Subgraph &result) {
  auto names = uniqueNames(source), others = uniqueNames(result);
  auto pair = [&](const Value *x, const Value *y) {
    if (x && y && sameShape(*x, *y) && !sources.count(y) && !counterparts.count(x))
      add(x, y);
  };
  for (auto [x, y] : llvm::zip(source.inputs, result.inputs))
    pair(x, y);
  for (const Value *value : source.values)
    if (names.lookup(value->name) == value)
      pair(value, others.lookup(value->name));
}

void Pairs::sort(const Imported &source, const Imported &result) {
  auto before = executionOrder(*source.model), after = executionOrder(*result.model);
  for (auto &[value, list] : counterparts)
    llvm::stable_sort(list, [&](const Counterpart &x, const Counterpart &y) {
      return std::pair(after.lookup(x.value), x.value->index) < std::pair(after.lookup(y.value), y.value->index);
    });
  for (auto &[value, list] : sources)
    llvm::stable_sort(list, [&](const Value *x, const Value *y) { return before.lookup(x) < before.lookup(y); });
}

void Pairs::follow(const Model &source) {
  const llvm::DenseSet<const Value *> outputs = outputsOf(source);
  llvm::DenseSet<const Value *> known; // what is computed and told of, or follows from that
  for (const auto &graph : source.subgraphs) {
    for (const Value *value : graph->values)
      if (!of(*value).empty() || (by == By::Relations && value->isGraphInput && !outputs.contains(value)))
        told.insert(value);
    for (const Operator &op : graph->operators) {
      bool follows =
          by == By::Relations || llvm::any_of(op.operands(), [&](const Use &use) { return known.contains(use.get()); });
      for (const Value *value : op.results()) {
        if (!value || !(follows || told.contains(value)))
          continue;
        known.insert(value);
        if (!outputs.contains(value))
          told.insert(value);
      }
    }
  }
}

llvm::ArrayRef<Counterpart> Pairs::of(const Value &source) const {
  auto found = counterparts.find(&source);
  return found == counterparts.end() ? llvm::ArrayRef<Counterpart>() : llvm::ArrayRef<Counterpart>(found->second);
}

llvm::ArrayRef<const Value *> Pairs::sourcesOf(const Value &result) const {
  auto found = sources.find(&result);
  return found == sources.end() ? llvm::ArrayRef<const Value *>() : llvm::ArrayRef<const Value *>(found->second);
}

/// One of a called subgraph, of which each call has a counterpart of its own.
bool Pairs::inlined(const Value &source) const {
  auto all = of(source);
  return all.size() > 1 && source.subgraph()->index != all[0].value->subgraph()->index &&
         llvm::none_of(all, [&](const Counterpart &c) { return called.count(c.value->subgraph()); });
}

llvm::SmallVector<std::pair<const Counterpart *, unsigned>, 2> Pairs::holders(const Place &source) const {
  llvm::SmallVector<std::pair<const Counterpart *, unsigned>, 2> list;
  auto all = of(*source.first);
  if (inlined(*source.first)) {
    if (source.second < all.size())
      list.push_back({&all[source.second], 0});
    return list;
  }
  for (const Counterpart &counterpart : all)
    if (source.second == 0 || called.count(counterpart.value->subgraph()))
      list.push_back({&counterpart, source.second});
  return list;
}

const Counterpart *Pairs::deciding(const Value &source, const llvm::DenseSet<const Value *> &always) const {
  auto all = of(source);
  if (all.empty() || inlined(source))
    return nullptr;
  const Counterpart &last = all.back();
  bool moves = llvm::any_of(last.steps, [](const Step &s) { return s.kind != Step::Cast && s.kind != Step::Quantize; });
  return !moves && always.contains(last.value) && eval::storesNumbers(last.value->type) ? &last : nullptr;
}

Place Pairs::placeFor(const Value &source, const Place &result) const {
  if (!inlined(source))
    return {&source, result.second};
  auto all = of(source);
  auto found = llvm::find_if(all, [&](const Counterpart &c) { return c.value == result.first; });
  return {&source, static_cast<unsigned>(found - all.begin())};
}

bool numbersOfSource(const eval::Tensor &source, const Counterpart &counterpart, const eval::Tensor &result,
                     std::vector<double> &numbers, std::vector<bool> &known) {
  auto way = eval::wayAlong(source, counterpart.steps, result);
  auto have = way ? eval::realNumbers(result) : std::nullopt;
  if (!have)
    return false;
  if (way->straight) {
    numbers = std::move(*have);
    known.assign(numbers.size(), true);
    return true;
  }
  size_t count = static_cast<size_t>(source.count());
  numbers.resize(count, NAN);
  known.resize(count, false);
  for (size_t i = 0; i < have->size(); ++i) {
    int64_t at = way->from[i];
    double scale = way->scale.empty() ? 1 : way->scale[i];
    if (at < 0 || scale == 0)
      continue;
    numbers[at] = way->scale.empty() ? (*have)[i] : ((*have)[i] - way->shift[i]) / scale;
    known[at] = true;
  }
  return true;
}

bool writeCounterpart(const eval::Tensor &source, llvm::ArrayRef<double> numbers, const Counterpart &counterpart,
                      eval::Tensor &result) {
  auto way = eval::wayAlong(source, counterpart.steps, result);
  if (!way || static_cast<int64_t>(numbers.size()) != source.count())
    return false;
  if (way->straight)
    return eval::storeNumbers(result, numbers);
  auto now = eval::realNumbers(result);
  if (!now)
    return false;
  for (size_t i = 0; i < now->size(); ++i)
    if (int64_t at = way->from[i]; at >= 0)
      (*now)[i] = way->scale.empty() ? numbers[at] : numbers[at] * way->scale[i] + way->shift[i];
  return eval::storeNumbers(result, *now);
}

} // namespace origo::report
