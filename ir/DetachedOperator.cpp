#include "ir/DetachedOperator.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

DetachedTensor DetachedTensor::integers(llvm::ArrayRef<int32_t> elements) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(int32_t));
  return {TensorType::INT32, {static_cast<int32_t>(elements.size())}, Payload::owned(bytes.str())};
}

Value &DetachedOperator::add(const DetachedTensor &tensor) {
  Value &value = values.emplace_back();
  value.type = tensor.type;
  value.shape = tensor.shape;
  value.hasShape = value.hasRank = true;
  value.quantization = tensor.quantization;
  if (!tensor.payload.empty()) {
    value.buffer = &buffers.emplace_back();
    value.buffer->payload = tensor.payload;
  }
  return value;
}

void DetachedOperator::attach(llvm::ArrayRef<Value *> operands) {
  uses = std::make_unique<char[]>(Use::roomFor(operands.size()));
  op.operandUses = Use::make(uses.get(), op, operands.size());
  op.operandCount = operands.size();
  for (auto [use, value] : llvm::zip_equal(op.operands(), operands))
    use.set(value);
  op.resultValues = results.data();
  op.resultRoom = UINT8_MAX;
  op.resultCount = results.size();
}

DetachedOperator::DetachedOperator(BuiltinOperator code, llvm::ArrayRef<DetachedTensor> operandTensors,
                                   llvm::ArrayRef<DetachedTensor> resultTensors, Options options, Options options2) {
  op.code = code;
  op.options = options;
  op.setOptions2(options2);
  llvm::SmallVector<Value *> operands;
  for (const DetachedTensor &tensor : operandTensors)
    operands.push_back(tensor.absent ? nullptr : &add(tensor));
  for (const DetachedTensor &tensor : resultTensors)
    results.push_back(tensor.absent ? nullptr : &add(tensor));
  attach(operands);
}

DetachedOperator::DetachedOperator(const Operator &original) {
  op.code = original.code;
  op.version = original.version;
  op.setCustomCode(original.customCode());
  op.setCustomOptions(original.customOptions());
  op.options = original.options;
  op.setOptions2(original.options2());
  op.index = original.index;
  auto copy = [&](const Value *value) -> Value * {
    if (!value)
      return nullptr;
    Payload payload = value->isConstant() ? value->payload() : Payload();
    Value &made =
        add({value->type, {value->shape.begin(), value->shape.end()}, std::move(payload), value->quantization});
    made.hasRank = value->hasRank;
    made.setShapeSignature(value->shapeSignature());
    made.setSparsity(value->sparsity());
    made.name = value->name;
    return &made;
  };
  llvm::SmallVector<Value *> operands;
  for (unsigned i = 0; i < original.numOperands(); ++i)
    operands.push_back(copy(original.operand(i)));
  for (const Value *value : original.results())
    results.push_back(copy(value));
  attach(operands);
}

} // namespace origo
