#include "passes/Linear.h"
#include "passes/Match.h"
#include "passes/Passes.h"

namespace origo {

static ActivationFunctionType activationOf(BuiltinOperator code) {
  switch (code) {
  case BuiltinOperator::RELU:
    return ActivationFunctionType::RELU;
  case BuiltinOperator::RELU6:
    return ActivationFunctionType::RELU6;
  default:
    return ActivationFunctionType::RELU_N1_TO_1;
  }
}

/// Kernels that clamp. Others have the option and refuse it (Concatenation, L2Normalization), or keep state; a
/// TransposeConv's activation is left on its own by convention of the circle toolchain.
static bool clamps(BuiltinOperator code) {
  switch (code) {
  case BuiltinOperator::ADD:
  case BuiltinOperator::SUB:
  case BuiltinOperator::MUL:
  case BuiltinOperator::DIV:
  case BuiltinOperator::CONV_2D:
  case BuiltinOperator::CONV_3D:
  case BuiltinOperator::DEPTHWISE_CONV_2D:
  case BuiltinOperator::FULLY_CONNECTED:
  case BuiltinOperator::AVERAGE_POOL_2D:
  case BuiltinOperator::MAX_POOL_2D:
  case BuiltinOperator::L2_POOL_2D:
    return true;
  default:
    return false;
  }
}

RewriteResult fuseActivation(Operator &act, Rewriter &rw) {
  Operator *op;
  if (!match(act.operand(0), rw, m_OneUse(m_Trait(Trait::FusedActivation, op))))
    return decline("not the only user of an operator that can have a fused activation");
  if (!clamps(op->code))
    return decline("the operator's kernel takes no fused activation");
  if (fusedActivation(*op) != ActivationFunctionType::NONE)
    return decline("the operator has an activation already");
  if (op->results().size() != 1)
    return decline("the operator has several results");
  const Value &before = *op->result(), &after = *act.result();
  if (before.type != after.type || before.shape != after.shape)
    return decline("the activation changes type or shape");
  bool quantised = before.quantization && before.quantization->quantized();
  if (before.type != TensorType::FLOAT32 && !quantised)
    return decline("integers without quantisation are not clamped");
  if (!sameQuantization(before.quantization, after.quantization))
    return decline("the activation changes the quantisation");
  return rw.replace(rw.clone(*op, activationEdit(*op, activationOf(act.code))).bitExact());
}

} // namespace origo
