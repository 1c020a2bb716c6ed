#include "passes/Linear.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace origo {

static const wire::Field *activationField(const Operator &op) {
  const OperatorInfo *row = op.info();
  if (!row || !row->has(Trait::FusedActivation) || !row->optionsType())
    return nullptr;
  return row->optionsType()->find("fused_activation_function");
}

ActivationFunctionType fusedActivation(const Operator &op) {
  const wire::Field *field = activationField(op);
  if (!field || !op.options.table)
    return ActivationFunctionType::NONE;
  return static_cast<ActivationFunctionType>(wire::integer(*op.options.table, *field));
}

wire::ScalarEdit activationEdit(const Operator &op, ActivationFunctionType activation) {
  return {activationField(op)->slot, static_cast<int64_t>(activation)};
}

Linear::Linear(Operator &op) : op(&op) {
  switch (op.code) {
  case BuiltinOperator::TRANSPOSE_CONV: // output_shape, filter, input, bias
    filterIndex = 1;
    biasIndex = 3;
    break;
  case BuiltinOperator::DEPTHWISE_CONV_2D: // filter [1, height, width, channels]
    channelAxis = 3;
    [[fallthrough]];
  default:
    filterIndex = 1;
    biasIndex = 2;
  }
}

bool isDenseFloatConstant(const Value *v) {
  return v && v->isConstant() && v->type == TensorType::FLOAT32 && !v->sparsity && !v->compression &&
         !v->externalBuffer && v->payload().hasBytes() && v->elementCount() &&
         v->payload().size() == *v->elementCount() * sizeof(float);
}

bool Linear::isPlainFloat() const {
  Value *input = op->operand(op->code == BuiltinOperator::TRANSPOSE_CONV ? 2 : 0);
  if (!input || input->type != TensorType::FLOAT32 || !isDenseFloatConstant(filter()) || op->results().size() != 1 ||
      op->result()->type != TensorType::FLOAT32)
    return false;
  if (filter()->rank() != (op->code == BuiltinOperator::FULLY_CONNECTED ? 2 : 4) || channels() <= 0)
    return false;
  if (Value *b = bias(); b && (!isDenseFloatConstant(b) || *b->elementCount() != static_cast<uint64_t>(channels())))
    return false;
  if (op->code == BuiltinOperator::FULLY_CONNECTED)
    if (auto *options = op->options.as<circle::FullyConnectedOptions>())
      return options->weights_format() == circle::FullyConnectedOptionsWeightsFormat::DEFAULT;
  return true;
}

bool m_Linear::match(Value *value, Rewriter &rw) const {
  Operator *op = value ? value->producer() : nullptr;
  if (!op || !op->info() || !op->info()->has(Trait::Linear))
    return false;
  bind = Linear(*op);
  rw.consume(*op);
  return true;
}

bool isPerChannel(const Value &constant, const Value &like, int32_t channels) {
  if (!isDenseFloatConstant(&constant) || constant.rank() > like.rank() || like.rank() == 0 ||
      like.shape.back() != channels)
    return false;
  uint64_t count = *constant.elementCount();
  return count == 1 || (count == static_cast<uint64_t>(channels) && constant.shape.back() == channels);
}

float floatAt(const Value &constant, size_t i) {
  float value;
  std::memcpy(&value, constant.payload().bytes().data() + i * sizeof(float), sizeof(float));
  return value;
}

} // namespace origo
