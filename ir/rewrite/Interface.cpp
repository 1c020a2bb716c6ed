#include "ir/Mutation.h"
#include "ir/Versions.h"
#include "ir/rewrite/Rewriter.h"

#include "llvm/ADT/STLExtras.h"

/// Inputs and outputs that are stored otherwise from now on.
namespace origo {

static void moveInput(Model &model, Subgraph &graph, Value &from, Value &to) {
  std::replace(graph.inputs.begin(), graph.inputs.end(), &from, &to);
  to.isGraphInput = std::exchange(from.isGraphInput, false);
  for (Signature &signature : model.signatures)
    for (Signature::Entry &entry : signature.inputs)
      if (entry.value == &from)
        entry.value = &to;
  to.signatureUses = std::exchange(from.signatureUses, 0);
  to.otherUses += to.signatureUses;
  from.otherUses -= to.signatureUses;
}

void Rewriter::storeInterface(llvm::StringRef passName) {
  if (!plan)
    return;
  pass = passName;
  for (auto [value, storage] : plan->interface) {
    bool isInput = value->isGraphInput;
    // What is both is no operand of anything that would have to find it otherwise.
    if (value->erased() || (isInput && (value->isGraphOutput() || !value->uses)) || (!isInput && !value->producer()))
      continue;
    ++model.rewrites;
    Subgraph &graph = *value->parent;
    Value &port = model.addValue(graph);
    port.type = storage->type;
    port.quantization = storage->quantization;
    port.hasShape = value->hasShape;
    port.hasRank = value->hasRank;
    port.shape = value->shape;
    port.shapeSignature = value->shapeSignature;
    port.name = value->name;
    for (Relation relation : value->relations) {
      if (!model.steps.extend(relation.steps, Step{port.type == TensorType::FLOAT32 ? Step::Cast : Step::Quantize}))
        continue;
      relation.exact = false;
      relation.lineage = 0;
      port.relations.push_back(relation);
    }
    if (port.relations.empty())
      port.noRelation = "new-intermediate";
    mutation::related(model, port);
    IdSet serves;
    if (isInput) {
      moveInput(model, graph, *value, port);
      value->forEachUse([&](Use &use) { serves = model.sets.join(serves, use.owner->origins); });
    } else {
      serves = value->producer()->origins;
      moveInterface(*value, port);
    }
    Value *from = isInput ? &port : value, *to = isInput ? value : &port;
    bool widens = to->type == TensorType::FLOAT32;
    value->name = model.copy((value->name + (widens == isInput ? "_Dequantize" : "_Quantize")).str());
    Operator &bridge =
        model.addOperator(graph, widens ? BuiltinOperator::DEQUANTIZE : BuiltinOperator::QUANTIZE, from, to);
    if (isInput) {
      graph.operators.remove(bridge);
      graph.operators.push_front(bridge);
    }
    bridge.options.member = static_cast<uint8_t>(bridge.info()->options);
    bridge.options = model.editOptions(bridge.options, {});
    bridge.version = lowestVersion(bridge);
    bridge.made = true;
    bridge.inexact = true;
    bridge.synthetic = model.create(Synthetic{reasonName(SyntheticReason::QuantizeBorder), serves});
    bridge.passes = model.passLists.add(0, pass);
    bridge.destinations = model.addDestinations();
    bridge.destinations->entries.push_back(&bridge);
  }
  model.number();
}

} // namespace origo
