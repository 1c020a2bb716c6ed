#include "ir/edit/Editor.h"

#include "llvm/ADT/STLExtras.h"

/// One part of a model, as a model.
namespace origo {

using llvm::Error;

namespace {

/// What the kept operators need of the model: their subgraph and, in file order, those that they call.
llvm::SmallVector<Subgraph *> neededSubgraphs(Model &model, Subgraph &graph, llvm::ArrayRef<Operator *> kept) {
  llvm::DenseSet<Subgraph *> called;
  llvm::SmallVector<Subgraph *> work;
  auto calls = [&](const Operator &op) {
    for (Subgraph *callee : op.callees())
      if (called.insert(callee).second)
        work.push_back(callee);
  };
  for (Operator *op : kept)
    calls(*op);
  while (!work.empty())
    for (Operator &op : work.pop_back_val()->operators)
      calls(op);
  llvm::SmallVector<Subgraph *> needed{&graph};
  for (auto &other : model.subgraphs)
    if (other.get() != &graph && called.contains(other.get()))
      needed.push_back(other.get());
  return needed;
}

/// Gives the subgraphs other numbers in the options of what calls them. `apply` false: only says whether it is
/// possible.
Error renumberCalls(Model &model, Operator &op, llvm::ArrayRef<unsigned> numbers, bool apply) {
  const OperatorInfo *info = op.info();
  Options &options = op.options.table ? op.options : op.makeOptions2();
  if (!info || info->subgraphFields.empty() || !options.table)
    return Error::success();
  llvm::SmallVector<wire::ScalarEdit, 2> edits;
  for (llvm::StringRef name : info->subgraphFields) {
    const wire::Field *field = info->optionsType()->find(name);
    if (field->type != wire::Type::Vector) {
      if (int64_t index = wire::integer(*options.table, *field);
          index >= 0 && index < static_cast<int64_t>(numbers.size()) && numbers[index] != index)
        edits.push_back({.slot = field->slot, .integer = numbers[index]});
      continue;
    }
    auto *items = options.table->GetPointer<const flatbuffers::Vector<int32_t> *>(field->vtableOffset());
    for (unsigned i = 0; items && i < items->size(); ++i)
      if (auto index = static_cast<uint32_t>(items->Get(i)); index < numbers.size() && numbers[index] != index)
        return makeError({.subgraph = static_cast<int>(op.subgraph()->index),
                          .op = static_cast<int>(op.index),
                          .opName = op.opName()},
                         "calls a list of subgraphs, which cannot have other numbers");
  }
  if (apply && !edits.empty())
    options = model.editOptions(options, edits, &options != &op.options);
  return Error::success();
}

} // namespace

void Editor::dropSubgraphs(llvm::function_ref<bool(const Subgraph &)> isEmptied) {
  std::vector<unsigned> numbers;
  unsigned next = 0;
  for (auto &graph : model.subgraphs)
    numbers.push_back(isEmptied(*graph) ? 0 : next++);
  for (bool apply : {false, true})
    for (auto &graph : model.subgraphs)
      for (Operator &op : graph->operators)
        if (Error error = renumberCalls(model, op, numbers, apply))
          return llvm::consumeError(std::move(error));
  llvm::erase_if(spentValues, [&](auto &spent) { return isEmptied(*spent.first); });
  llvm::erase_if(model.subgraphs, [&](auto &graph) { return isEmptied(*graph); });
}

Error Editor::keepOnly(llvm::StringRef name, llvm::ArrayRef<Operator *> kept, PartOf partOf,
                       llvm::ArrayRef<int32_t> sourceProducers) {
  model.number();
  model.forgetLineages(); // what comes from the rest is an input
  Subgraph &graph = *kept.front()->subgraph();
  llvm::DenseSet<const Operator *> stays(kept.begin(), kept.end());
  llvm::SmallVector<Subgraph *> needed = neededSubgraphs(model, graph, kept);
  std::vector<unsigned> numbers(model.subgraphs.size(), 0);
  for (auto [i, one] : llvm::enumerate(needed))
    numbers[one->index] = i;
  if (llvm::is_contained(llvm::ArrayRef(needed).drop_front(), &graph))
    return makeError("the subgraph calls itself");
  auto forEachKept = [&](llvm::function_ref<Error(Operator &)> visit) -> Error {
    for (Subgraph *one : needed)
      for (Operator &op : one->operators)
        if (one != &graph || stays.contains(&op))
          if (Error error = visit(op))
            return error;
    return Error::success();
  };
  if (Error error = forEachKept([&](Operator &op) { return renumberCalls(model, op, numbers, false); }))
    return error;

  pass = name;
  bool pristine = model.rewrites++ == 0; // what the source does not use was not removed by anyone
  for (auto &one : model.subgraphs)
    for (Value *value : std::vector<Value *>(one->values))
      if (!value->erased() && !value->producer() && !value->isGraphInput && value->unused())
        eraseValue(*value, pristine ? Fate::UnusedInSource : Fate::Dead, nullptr);
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  std::vector<LedgerRow> before; // ids that led into something, which may go now
  model.ledger(lost, [&](const LedgerRow &row) {
    if (!row.operators.empty() || !row.values.empty())
      before.push_back(row);
  });
  std::vector<bool> wasLive(model.sourceOperators), isLive(model.sourceOperators);
  std::vector<const Part *> partOfSource(model.sourceOperators);
  auto fateOf = [](const Part *where) { return where ? Fate::Elsewhere : Fate::UserRemoved; };
  llvm::DenseMap<const void *, const Part *> gone; // operators and values, by where they are
  for (auto &one : model.subgraphs)
    for (Operator &op : one->operators) {
      bool here = one.get() == &graph ? stays.contains(&op) : llvm::is_contained(needed, one.get());
      const Part *where = here ? nullptr : partOf(one.get() == &graph ? &op : nullptr, *one);
      model.sets.forEach(op.origins, [&](uint32_t id) {
        wasLive[id] = true;
        if (here)
          isLive[id] = true;
        else if (!partOfSource[id])
          partOfSource[id] = where;
      });
      if (here)
        continue;
      gone[&op] = where;
      for (Value *result : op.results())
        gone[result] = where;
      for (const Use &use : op.operands())
        if (use.get() && !use.get()->producer())
          gone.try_emplace(use.get(), where);
    }

  // The interface: what of the old one stays comes first, in its order.
  llvm::SmallVector<Value *> inputs, outputs;
  auto add = [](llvm::SmallVector<Value *> &list, Value *value) {
    if (!llvm::is_contained(list, value))
      list.push_back(value);
  };
  auto usedBy = [&](const Value &value, bool keptOnes) {
    bool used = false;
    value.forEachUse([&](const Use &use) { used |= stays.contains(use.user()) == keptOnes; });
    return used;
  };
  for (Value *value : graph.inputs)
    if (usedBy(*value, true))
      add(inputs, value);
  for (Value *value : graph.outputs)
    if (value->producer() && stays.contains(value->producer()))
      add(outputs, value);
  llvm::DenseSet<const Value *> listed(inputs.begin(), inputs.end());
  listed.insert(outputs.begin(), outputs.end());
  for (Operator &op : graph.operators) {
    bool here = stays.contains(&op), needless = true;
    for (Value *result : op.results())
      needless &= !result || (!result->useCount() && !result->isGraphOutput());
    for (Value *result : op.results())
      if (result && (here ? needless || usedBy(*result, false) : usedBy(*result, true)) && listed.insert(result).second)
        (here ? outputs : inputs).push_back(result);
  }
  llvm::DenseSet<const Value *> formerOutputs(graph.outputs.begin(), graph.outputs.end());
  for (Value *value : graph.outputs) {
    --value->graphOutputs;
    --value->otherUses;
  }
  for (Signature &signature : model.signatures)
    for (auto *entries : {&signature.inputs, &signature.outputs})
      for (const Signature::Entry &entry : *entries)
        if (entry.value) {
          --entry.value->signatureUses;
          --entry.value->otherUses;
        }
  model.signatures.clear();
  model.setOutputs(graph, outputs);

  auto drop = [&](Operator &op) {
    part = gone.lookup(&op);
    for (unsigned i = 0; i < op.resultCount; ++i)
      if (Value *result = op.resultArray()[i]; result && &graph == op.parent && llvm::is_contained(inputs, result)) {
        result->definer = nullptr;
        op.resultArray()[i] = nullptr;
      }
    erase(op, fateOf(part), nullptr);
  };
  auto dropValue = [&](Value &value, const Subgraph &of) {
    auto known = gone.find(&value);
    part = known != gone.end() ? known->second : &of == &graph ? nullptr : partOf(nullptr, of);
    bool unneeded = known == gone.end() && &of == &graph && !formerOutputs.contains(&value);
    eraseValue(value, unneeded ? Fate::Dead : fateOf(part), nullptr);
  };
  auto backwards = [](Subgraph &of, llvm::function_ref<bool(Operator &)> which) {
    llvm::SmallVector<Operator *> list;
    for (Operator &op : llvm::reverse(of.operators))
      if (which(op))
        list.push_back(&op);
    return list;
  };
  for (Operator *op : backwards(graph, [&](Operator &op) { return !stays.contains(&op); }))
    drop(*op);
  for (Value *value : graph.inputs)
    if (!llvm::is_contained(inputs, value)) {
      value->isGraphInput = false;
      if (!value->erased())
        dropValue(*value, graph);
    }
  model.setInputs(graph, inputs);
  for (auto &one : model.subgraphs)
    if (!llvm::is_contained(needed, one.get())) {
      for (Operator *op : backwards(*one, [](Operator &) { return true; }))
        drop(*op);
      for (Value *value : std::vector<Value *>(one->values))
        if (!value->erased())
          dropValue(*value, *one);
    }
  doomed.clear(); // producers of what became unused: all that are to go have gone

  // Rows of earlier rewrites that lead nowhere now.
  for (const LedgerRow &row : before) {
    if (llvm::any_of(row.operators, [](const Operator *op) { return !op->erased(); }) ||
        llvm::any_of(row.values, [](const Value *value) { return !value->erased(); }))
      continue;
    part = row.operators.empty() ? gone.lookup(row.values.front()) : gone.lookup(row.operators.front());
    bury(row.isTensor, model.sets.single(row.id), fateOf(part), nullptr);
    if (!row.isTensor) { // it was there, as what it had become, and went with that
      wasLive[row.id] = true;
      partOfSource[row.id] = part;
    }
  }
  // What has lost the source operator that made it: an input still is that tensor if the operator is elsewhere.
  for (Subgraph *one : needed)
    for (Value *value : one->values) {
      bool input = !value->erased() && llvm::is_contained(inputs, value);
      if (value->erased() || (!value->producer() && !input))
        continue;
      llvm::SmallVector<uint32_t, 2> ids;
      llvm::erase_if(value->relations, [&](const Relation &relation) {
        int32_t producer = relation.tensor < sourceProducers.size() ? sourceProducers[relation.tensor] : -1;
        if (producer < 0 || isLive[producer] || !wasLive[producer] || (input && partOfSource[producer]))
          return false;
        part = partOfSource[producer];
        ids.assign({relation.tensor});
        bury(true, model.sets.of(ids), fateOf(part), nullptr);
        return true;
      });
      if (value->relations.empty() && value->noRelation == NoRelation::None)
        value->noRelation = NoRelation::NewIntermediate;
    }

  llvm::cantFail(forEachKept([&](Operator &op) { return renumberCalls(model, op, numbers, true); }));
  llvm::erase_if(model.subgraphs, [&](auto &one) { return !llvm::is_contained(needed, one.get()); });
  llvm::stable_sort(model.subgraphs, [&](auto &a, auto &b) { return a.get() == &graph && b.get() != &graph; });

  part = nullptr;
  pruneBuffers();
  model.number();
  return Error::success();
}

} // namespace origo
