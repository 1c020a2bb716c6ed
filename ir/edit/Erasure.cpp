#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/edit/Editor.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

/// What goes: operators and values that nothing needs, and where their ids are noted.
namespace origo {

bool Editor::removable(const Operator &op) const {
  return op.effects() == 0 && llvm::all_of(op.results(), [](Value *v) { return !v || v->unused(); });
}

/// A long chain of rewrites leaves behind as many constants as it has steps.
void Editor::dropPayload(Value &value) {
  if (!value.buffer || !value.buffer->computed)
    return;
  value.buffer->payload = {};
  model.spareBuffers.push_back(std::exchange(value.buffer, nullptr));
}

void Editor::bury(bool tensors, IdSet ids, Fate fate, Destinations *into) {
  if (ids.empty())
    return;
  assert(!into || fate != Fate::Elsewhere);
  Tombstone &stone = model.tombstones.emplace_back();
  stone.ofTensors = tensors;
  stone.fate = fate;
  stone.run = static_cast<uint16_t>(model.run);
  stone.ids = ids;
  stone.pass = model.passLists.add(0, pass);
  stone.rewrite = model.rewrites;
  if (fate == Fate::Elsewhere)
    stone.into = part;
  else
    stone.into = into;
  size_t stones = model.tombstones.size();
  mutation::buried(model);
  bool cancels = fate == Fate::Cancelled || fate == Fate::LayoutCancelled || fate == Fate::QuantizationCancelled;
  if (!tensors && cancels && !together.empty() && model.tombstones.size() == stones)
    model.cancelledWith.emplace_back(static_cast<uint32_t>(stones - 1), together);
}

/// What the constant is of the source by those of its lineages that this use has nothing of.
static IdSet othersThan(IdSets &sets, const Use &use) {
  const Value &constant = *use.get();
  if (!constant.isConstant() || constant.lineages().empty())
    return {};
  IdSet own, all;
  std::vector<bool> used(lineage::count(constant));
  for (uint32_t way = 0; way < lineage::count(*use.user()); ++way)
    used[lineage::ofOperand(*use.user(), way, use.operandIndex())] = true;
  for (uint32_t way = 0; way < used.size(); ++way) {
    IdSet ids = lineage::parents(constant, way).tensors;
    for (const Relation &relation : lineage::relations(constant, way))
      ids = sets.join(ids, sets.single(relation.tensor));
    (used[way] ? own : all) = sets.join(used[way] ? own : all, ids);
  }
  return sets.minus(all, own);
}

/// What was worked into the constant of a use, and is no operand of its user in the source: whose operand it is has
/// read it, and lives on with that.
static IdSet workedInto(Model &model, const Use &use) {
  const Value &constant = *use.get();
  if (!constant.isConstant() || constant.sourceOperators.empty())
    return {};
  llvm::SmallVector<uint32_t, 4> own;
  model.sets.forEach(use.user()->origins, [&](uint32_t id) {
    llvm::copy_if(model.sourceGraph.operands(id), std::back_inserter(own),
                  [](int32_t operand) { return operand >= 0; });
  });
  return model.sets.minus(constant.sourceTensors, model.sets.of(own));
}

void Editor::erase(Operator &op, Fate fate, Destinations *into) {
  // What is fused lives on in the operators that were made, a duplicate in the one that stays.
  if (fate != Fate::FusedAway && fate != Fate::Decomposed && fate != Fate::DuplicateOf)
    bury(false, op.origins, fate, into);
  else if (!op.lineages().empty())
    bury(false, op.origins, Fate::DuplicateOf, into); // those of its lineages that this did not use
  Destinations *home = std::exchange(op.destinations, into);
  if (op.made) {
    auto *entry = llvm::find_if(home->entries, [&](auto e) { return llvm::dyn_cast<Operator *>(e) == &op; });
    if (into)
      *entry = into;
    else
      home->entries.erase(entry);
  }
  if (op.made || !op.named)
    spent.push_back(&op);
  for (unsigned i = 0; i < op.resultCount; ++i)
    if (Value *result = op.resultArray()[i]) {
      result->definer = nullptr;
      eraseValue(*result, fate, into);
    }
  for (Value *value : op.intermediates())
    if (value) {
      --value->otherUses;
      release(value, fate, into);
    }
  op.parent->operators.remove(op);
  op.parent = nullptr;
  for (Use &use : op.operands())
    if (Value *value = use.get()) {
      Fate end = isUnneeded(use) ? Fate::Dead : fate;
      IdSet others = end == Fate::Dead ? othersThan(model.sets, use) : IdSet();
      IdSet worked = end == Fate::Dead && fate != Fate::Dead ? workedInto(model, use) : IdSet();
      use.set(nullptr);
      release(value, end, end == fate ? into : nullptr);
      if (!value->erased())
        continue;
      bury(true, others, Fate::DuplicateOf, nullptr); // of who used them earlier, the ledger knows
      bury(true, worked, Fate::FusedAway, nullptr);   // likewise
    }
}

/// One use of `value` went with something that was erased.
void Editor::release(Value *value, Fate fate, Destinations *into) {
  if (value->erased())
    return;
  if (Operator *producer = value->producer()) {
    changed(*producer);
    if (value->unused() && !handles(*producer) && removable(*producer))
      doomed.push_back(producer);
  } else if (value->unused() && !value->isGraphInput) {
    eraseValue(*value, fate, into);
    return;
  }
  if (value->hasOneUse())
    changed(*value->uses->user()); // what waited for the value to have one use
}

void Editor::eraseDoomed(Fate fate) {
  while (!doomed.empty()) {
    Operator *op = doomed.pop_back_val();
    if (!op->erased())
      erase(*op, fate, nullptr);
  }
}

void Editor::eraseValue(Value &value, Fate fate, Destinations *into) {
  Subgraph *graph = value.parent;
  llvm::SmallVector<uint32_t, 4> ids;
  for (const Relation &relation : value.relations)
    ids.push_back(relation.tensor);
  bury(true, model.sets.minus(model.sets.join(model.sets.of(ids), value.sourceTensors), carried.lookup(&value)), fate,
       into);
  value.setDestinations(into);
  value.relations.clear();
  value.forgetRarities(); // who follows the ledger through it looks at its destinations only
  value.shape.clear();
  value.parent = nullptr;
  dropPayload(value);
  spentValues.emplace_back(graph, &value);
  if (const Quantization *q = value.quantization)
    for (Value *detail : {q->more->scales, q->more->zeroPoints})
      if (detail) {
        --detail->otherUses;
        release(detail, fate, into);
      }
}

bool Editor::removeDeadCode(Fate fate) {
  pass = fate == Fate::UserRemoved ? "change-outputs" : "remove-dead-code";
  bool pristine = model.rewrites == 0; // earlier runs have removed whatever they made useless
  size_t before = model.tombstones.size();
  ++model.rewrites;
  for (auto &graph : model.subgraphs) {
    llvm::SmallVector<Value *> unused;
    for (Value *value : graph->values)
      if (!value->erased() && !value->producer() && !value->isGraphInput && value->unused())
        unused.push_back(value);
    for (Value *value : unused)
      if (!value->erased())
        eraseValue(*value, pristine ? Fate::UnusedInSource : fate, nullptr);
    for (Operator &op : llvm::reverse(graph->operators))
      if (removable(op))
        doomed.push_back(&op);
    std::reverse(doomed.begin(), doomed.end());
    eraseDoomed(fate);
  }
  if (model.tombstones.size() != before)
    return true;
  --model.rewrites;
  return false;
}

void Editor::changeOutputs(llvm::ArrayRef<Value *> outputs) {
  removeDeadCode(); // what the source does not use was not removed by the user
  Subgraph &graph = *model.subgraphs.front();
  for (Value *value : graph.outputs) {
    --value->graphOutputs;
    --value->otherUses;
  }
  model.setOutputs(graph, outputs);
  for (Signature &signature : model.signatures) {
    if (signature.subgraph != &graph)
      continue;
    for (const Signature::Entry &entry : signature.outputs)
      if (entry.value) {
        --entry.value->signatureUses;
        --entry.value->otherUses;
      }
    signature.outputs.clear();
    for (Value *value : outputs) {
      signature.outputs.push_back({value->name, value});
      ++value->signatureUses;
      ++value->otherUses;
    }
  }
  ++model.rewrites;
  removeDeadCode(Fate::UserRemoved);
}

void Editor::keepOutputs(llvm::ArrayRef<Value *> outputs) {
  removeDeadCode();
  Subgraph &graph = *model.subgraphs.front();
  for (Value *value : graph.outputs) {
    --value->graphOutputs;
    --value->otherUses;
  }
  model.setOutputs(graph, outputs);
  for (Signature &signature : model.signatures)
    if (signature.subgraph == &graph)
      llvm::erase_if(signature.outputs, [](const Signature::Entry &entry) {
        if (!entry.value || entry.value->graphOutputs != 0)
          return false;
        --entry.value->signatureUses;
        --entry.value->otherUses;
        return true;
      });
  ++model.rewrites;
  removeDeadCode(Fate::UserRemoved);
}

void Editor::pruneBuffers() {
  llvm::DenseSet<const Buffer *> used;
  if (!model.buffers.empty())
    used.insert(model.buffers.front());
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      if (!value->erased())
        used.insert(value->buffer);
  for (const MetadataEntry &entry : model.metadata)
    used.insert(entry.buffer);
  for (Buffer *buffer : model.metadataBuffers)
    used.insert(buffer);
  llvm::erase_if(model.buffers, [&](Buffer *b) { return !used.contains(b); });
  model.spareBuffers = {}; // they are not listed any more
}

} // namespace origo
