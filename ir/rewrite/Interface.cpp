#include "ir/Mutation.h"
#include "ir/Versions.h"
#include "ir/rewrite/Rewriter.h"

#include "llvm/ADT/STLExtras.h"

/// Inputs and outputs that are stored, or laid out, otherwise from now on.
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

/// Whether a bridge can stand between the interface and `value`. What is input and output is no operand of anything
/// that would have to find it otherwise, and what nothing computes or uses needs none.
static bool canHavePort(const Value &value) {
  if (value.erased())
    return false;
  bool used = false;
  value.forEachUse([&](Use &) { used = true; });
  return value.isGraphInput ? !value.isGraphOutput() && used : value.producer() != nullptr;
}

/// What an operator does the work of: what a bridge serves that stands beside it.
static IdSet servedBy(const Operator &op) {
  return op.origins.empty() && op.synthetic ? op.synthetic->serves : op.origins;
}

/// A tensor to take the place of `value` in the interface: `value`, changed by a step.
Value &Rewriter::newPort(Value &value, const Step &step, bool exact) {
  ++model.rewrites;
  Value &port = model.addValue(*value.parent);
  port.type = value.type;
  port.quantization = value.quantization;
  port.hasShape = value.hasShape;
  port.hasRank = value.hasRank;
  port.shape = value.shape;
  port.setShapeSignature(value.shapeSignature());
  port.name = value.name;
  for (Relation relation : value.relations) {
    if (!model.steps.extend(relation.steps, step))
      continue;
    relation.exact &= exact;
    relation.lineage = 0;
    port.relations.push_back(relation);
  }
  if (port.relations.empty())
    port.noRelation = NoRelation::NewIntermediate;
  mutation::related(model, port);
  return port;
}

/// Puts an operator between a port and the tensor whose place it takes, and whose name.
void Rewriter::bridge(Value &value, Value &port, BuiltinOperator code, llvm::ArrayRef<Value *> more,
                      SyntheticReason reason, bool exact, llvm::StringRef suffix) {
  bool isInput = value.isGraphInput;
  Subgraph &graph = *value.parent;
  IdSet serves;
  if (isInput) {
    moveInput(model, graph, value, port);
    value.forEachUse([&](Use &use) { serves = model.sets.join(serves, servedBy(*use.user())); });
  } else {
    serves = servedBy(*value.producer());
    moveInterface(value, port);
  }
  value.name = (value.name.text() + suffix).str();
  llvm::SmallVector<Value *, 2> operands{isInput ? &port : &value};
  operands.append(more.begin(), more.end());
  Operator &op = model.addOperator(graph, code, operands, isInput ? &value : &port);
  if (isInput) {
    graph.operators.remove(op);
    graph.operators.push_front(op);
  }
  op.options.member = static_cast<uint8_t>(op.info()->options);
  op.options = model.editOptions(op.options, {});
  op.version = lowestVersion(op);
  op.made = true;
  op.inexact = !exact;
  op.synthetic = model.create(Synthetic{reasonName(reason), serves});
  op.passes = model.passLists.add(0, pass);
  op.destinations = model.addDestinations();
  op.destinations->entries.push_back(&op);
}

void Rewriter::storeInterface(llvm::StringRef passName) {
  if (!plan)
    return;
  pass = passName;
  for (auto [value, storage] : plan->interface) {
    if (!canHavePort(*value))
      continue;
    bool toFloat = storage->type == TensorType::FLOAT32, wasFloat = value->type == TensorType::FLOAT32;
    bool widens = value->isGraphInput ? wasFloat : toFloat;
    Value &port = newPort(*value, Step{toFloat ? Step::Cast : Step::Quantize}, false);
    port.type = storage->type;
    port.quantization = storage->quantization;
    bridge(*value, port, widens ? BuiltinOperator::DEQUANTIZE : BuiltinOperator::QUANTIZE, {},
           SyntheticReason::QuantizeBorder, false, value->isGraphInput && wasFloat ? "_Dequantize" : "_Quantize");
  }
  model.number();
}

void Rewriter::turnInterface(llvm::StringRef passName, bool inputs, bool outputs) {
  pass = passName;
  Subgraph &graph = *model.subgraphs.front();
  auto turn = [&](llvm::ArrayRef<Value *> values) {
    for (Value *value : llvm::SmallVector<Value *>(values.begin(), values.end())) {
      if (!canHavePort(*value) || value->rank() != 4 || value->isVariable ||
          (value->quantization && value->quantization->scale.size() > 1))
        continue;
      Step step{Step::Permute};
      step.first.assign({0, 2, 3, 1});
      Value &port = newPort(*value, step, true);
      llvm::ArrayRef<int32_t> sizes = value->shape, stated = value->shapeSignature();
      port.shape = {sizes[0], sizes[2], sizes[3], sizes[1]};
      if (stated.size() == 4)
        port.setShapeSignature(model.copy(llvm::ArrayRef<int32_t>({stated[0], stated[2], stated[3], stated[1]})));
      const int32_t order[2][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}};
      Value &permutation = model.addValue(graph);
      permutation.buffer = &model.addBuffer(
          Payload::owned(std::string(reinterpret_cast<const char *>(order[value->isGraphInput]), sizeof(order[0]))));
      permutation.buffer->computed = true;
      permutation.type = TensorType::INT32;
      permutation.hasShape = true;
      permutation.hasRank = value->hasRank;
      permutation.shape = {4};
      permutation.name = (port.name.text() + "/perm").str();
      permutation.noRelation = NoRelation::Synthetic;
      permutation.setSynthetic(reasonName(SyntheticReason::InventedConstant));
      bridge(*value, port, BuiltinOperator::TRANSPOSE, &permutation, SyntheticReason::LayoutBridge, true, "_NCHW");
    }
  };
  if (inputs)
    turn(graph.inputs);
  if (outputs)
    turn(graph.outputs);
  model.number();
}

void Rewriter::dropCodes() {
  if (auto own = codes.ownOutputs()) {
    llvm::SmallVector<Value *> outputs(own->begin(), own->end());
    codes = {};
    keepOutputs(outputs);
  }
}

} // namespace origo
