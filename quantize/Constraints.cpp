#include "quantize/Constraints.h"

#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "ir/Activation.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

using Op = BuiltinOperator;

static llvm::ArrayRef<Constraint> allConstraints() {
  using enum Scaling;
  static const Constraint rows[] = {
      // operator, as ONE does it, as TensorFlow Lite does it, position of the bias, whether that has 16 bits
      // (LOG and DIV have no result where the stored range reaches 0; SQRT is new in the runtime.)
      {Op::ABS, Free, Free},
      {Op::ADD, Free, Free},
      {Op::ADD_N, Free, Real},
      {Op::ARG_MAX, Free, Free, -1, false},
      {Op::ARG_MIN, Free, Free, -1, false},
      {Op::AVERAGE_POOL_2D, Free, AsInput},
      {Op::BATCH_MATMUL, Free, Free},
      {Op::BATCH_TO_SPACE_ND, Free, AsInput},
      {Op::BROADCAST_TO, Free, AsInput},
      {Op::CEIL, Whole, Real},
      {Op::CONCATENATION, Shared, Shared},
      {Op::CONV_2D, Free, Free, 2},
      {Op::COS, Free, Real},
      {Op::DEPTHWISE_CONV_2D, Free, Free, 2},
      {Op::DEPTH_TO_SPACE, Free, AsInput, -1, false},
      {Op::DIV, Free, Real},
      {Op::DYNAMIC_UPDATE_SLICE, Shared, Shared},
      {Op::ELU, Free, Free, -1, false},
      {Op::EQUAL, Free, Free, -1, false},
      {Op::EXP, Free, Free},
      {Op::EXPAND_DIMS, Free, AsInput},
      {Op::FLOOR, Whole, Real},
      {Op::FLOOR_DIV, Whole, Real},
      {Op::FLOOR_MOD, Whole, Real},
      {Op::FULLY_CONNECTED, Free, Free, 2},
      {Op::GATHER, AsInput, AsInput},
      {Op::GATHER_ND, Free, AsInput},
      {Op::GELU, Free, Free, -1, false},
      {Op::GREATER, Free, Free, -1, false},
      {Op::GREATER_EQUAL, Free, Free, -1, false},
      {Op::HARD_SWISH, Free, Free, -1, false},
      {Op::INSTANCE_NORM, Free, Real},
      {Op::L2_NORMALIZATION, Free, Fixed, -1, false},
      {Op::LEAKY_RELU, Free, Free},
      {Op::LESS, Free, Free, -1, false},
      {Op::LESS_EQUAL, Free, Free, -1, false},
      {Op::LOCAL_RESPONSE_NORMALIZATION, Free, Real},
      {Op::LOG, Free, Real},
      {Op::LOGISTIC, Fixed, Fixed},
      {Op::LOG_SOFTMAX, Free, Fixed, -1, false},
      {Op::MAXIMUM, Free, Shared},
      {Op::MAX_POOL_2D, Free, AsInput},
      {Op::MEAN, Free, Free},
      {Op::MINIMUM, Free, Shared},
      {Op::MIRROR_PAD, Free, AsInput},
      {Op::MUL, Free, Free},
      {Op::NEG, Free, Free, -1, false},
      {Op::NOT_EQUAL, Free, Free, -1, false},
      {Op::ONE_HOT, Shared, Real},
      {Op::PACK, Shared, Shared},
      {Op::PAD, Free, AsInput},
      {Op::PADV2, Shared, Shared},
      {Op::POW, Free, Real},
      {Op::PRELU, Free, Free, -1, false},
      {Op::REDUCE_MAX, Free, AsInput},
      {Op::REDUCE_MIN, Free, AsInput},
      {Op::REDUCE_PROD, Free, Free},
      {Op::RELU, Free, Free},
      {Op::RELU6, Free, Free},
      {Op::RELU_0_TO_1, Free, Free},
      {Op::RELU_N1_TO_1, Free, Free, -1, false},
      {Op::RESHAPE, AsInput, AsInput},
      {Op::RESIZE_BILINEAR, Free, AsInput},
      {Op::RESIZE_NEAREST_NEIGHBOR, Free, AsInput},
      {Op::REVERSE_SEQUENCE, Free, Real},
      {Op::REVERSE_V2, Free, AsInput},
      {Op::RMS_NORM, Free, Real},
      {Op::RSQRT, Free, Free},
      {Op::SCATTER_ND, Free, AsInput},
      {Op::SELECT, Free, Shared},
      {Op::SELECT_V2, Free, Shared},
      {Op::SIN, Free, Real},
      {Op::SLICE, Free, AsInput},
      {Op::SOFTMAX, Fixed, Fixed},
      {Op::SPACE_TO_BATCH_ND, Free, AsInput},
      {Op::SPACE_TO_DEPTH, Free, AsInput, -1, false},
      {Op::SPLIT, AsInput, AsInput},
      {Op::SPLIT_V, AsInput, AsInput},
      {Op::SQRT, Free, Real},
      {Op::SQUARE, Free, Real},
      {Op::SQUARED_DIFFERENCE, Free, Free, -1, false},
      {Op::SQUEEZE, Free, AsInput},
      {Op::STRIDED_SLICE, AsInput, AsInput},
      {Op::SUB, Free, Free},
      {Op::SUM, Free, Free},
      {Op::SVDF, Real, Free, -1, false},
      {Op::TANH, Fixed, Fixed},
      {Op::TILE, Free, AsInput},
      {Op::TOPK_V2, AsInput, AsInput},
      {Op::TRANSPOSE, AsInput, AsInput},
      {Op::TRANSPOSE_CONV, Free, Free, 3},
      {Op::LSTM, Real, Free, -1, false},
      {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, Real, Free, -1, false},
      {Op::UNPACK, AsInput, AsInput},
  };
  return rows;
}

const Constraint *constraintOf(Op code) {
  auto rows = allConstraints();
  auto found = llvm::find_if(rows, [&](const Constraint &row) { return row.code == code; });
  return found == rows.end() ? nullptr : found;
}

std::optional<FixedScale> fixedScale(Op code, TensorType type, Dialect dialect) {
  bool one = dialect == Dialect::One;
  if (type == TensorType::INT16)
    switch (code) {
    case Op::LOGISTIC:
    case Op::TANH:
      return FixedScale{1. / 32768, 0};
    case Op::SOFTMAX:
      return FixedScale{one ? 1. / 32767 : 1. / 32768, 0};
    default:
      return std::nullopt;
    }
  if (type == TensorType::UINT8)
    switch (code) {
    case Op::LOGISTIC:
      return FixedScale{1. / 256, 0};
    case Op::TANH:
      return FixedScale{2. / 256, 128};
    case Op::SOFTMAX:
      return FixedScale{one ? 1. / 255 : 1. / 256, 0};
    default:
      return std::nullopt;
    }
  if (type == TensorType::INT8)
    switch (code) {
    case Op::LOGISTIC:
    case Op::SOFTMAX:
      return FixedScale{1. / 256, -128};
    case Op::TANH:
    case Op::L2_NORMALIZATION:
      return FixedScale{1. / 128, 0};
    case Op::LOG_SOFTMAX:
      return FixedScale{16. / 256, 127};
    default:
      return std::nullopt;
    }
  return std::nullopt;
}

static float scaleOf(const Storage *storage) { return storage->quantization->scale[0]; }
static const Storage *operandOf(const StoragePlan::Decision &decision, unsigned i) {
  return i < decision.operands.size() ? decision.operands[i] : nullptr;
}

double leastResultScale(const Operator &op, const StoragePlan::Decision &decision) {
  const Storage *y = decision.results.empty() ? nullptr : decision.results[0];
  if (!y)
    return 0;
  constexpr double above = 1 + 0x1p-16; // as a multiplier is rounded
  auto twiceGreatest = [&] {
    double greatest = 0;
    for (const Storage *operand : decision.operands)
      if (operand)
        greatest = std::max(greatest, double{scaleOf(operand)});
    return 2 * greatest;
  };
  switch (op.code) {
  case Op::ADD:
  case Op::SUB: // the sum is shifted so far to the left before it is multiplied by less than 1
    return twiceGreatest() / (y->type == TensorType::INT16 ? 0x1p15 : 0x1p20) * above;
  case Op::SQUARED_DIFFERENCE:
    return y->type == TensorType::INT16 ? 0 : twiceGreatest() * twiceGreatest() / 0x1p14 * above;
  case Op::FULLY_CONNECTED: { // the bias' scale may be off by so much of the result's
    const Storage *x = operandOf(decision, 0), *w = operandOf(decision, 1), *bias = operandOf(decision, 2);
    if (!x || !w || !bias || w->quantization->scale.size() != 1)
      return 0;
    return std::fabs(double{scaleOf(x)} * double{scaleOf(w)} - double{scaleOf(bias)}) / 0.02 * above;
  }
  default:
    return 0;
  }
}

/// Do bounds of an activation lie so many steps from zero that they are no integer of 32 bits?
static bool boundsOverflow(const Operator &op, float scale) {
  auto activation = activationOf(op);
  if (op.code == Op::RELU6)
    activation = circle::ActivationFunctionType::RELU6;
  if (op.code == Op::RELU_N1_TO_1 || op.code == Op::RELU_0_TO_1)
    activation = circle::ActivationFunctionType::RELU_N1_TO_1;
  auto [low, high] = eval::activationRange(activation);
  constexpr float most = 2147483392; // with a zero point beside it
  auto overflows = [&](float bound) { return std::isfinite(bound) && std::fabs(bound) / scale > most; };
  return overflows(low) || overflows(high);
}

std::string scaleRefusal(const Operator &op, const StoragePlan::Decision &decision) {
  auto reachesOne = [&](const Storage *storage) { return storage && scaleOf(storage) >= 1; };
  if (op.info()->has(Trait::Comparison) && llvm::any_of(decision.operands, reachesOne))
    return "a comparison of integers takes scales below 1";
  const char *farApart = "its scales would be too far apart";
  const Storage *x = operandOf(decision, 0), *second = operandOf(decision, 1);
  const Storage *y = decision.results.empty() ? nullptr : decision.results[0];
  if (y && scaleOf(y) < leastResultScale(op, decision))
    return farApart;
  // Runtimes compute the product of the shift and the result's scale as a float, which has to be one.
  if (y && llvm::is_contained({Op::ADD, Op::SUB, Op::SQUARED_DIFFERENCE}, op.code) &&
      !std::isfinite(scaleOf(y) * 0x1p20f))
    return "its result's scale would be too big";
  if (x && y) { // a quotient of floats, which has to be one
    bool isProduct = second && (op.code == Op::MUL || op.code == Op::PRELU || op.code == Op::BATCH_MATMUL);
    float factor = scaleOf(x) * (isProduct ? scaleOf(second) : 1.f);
    if (!std::isfinite(factor / scaleOf(y)))
      return farApart;
  }
  // Kernels of 16 bits broadcast to four dimensions; runtimes of before 2026 end themselves on more.
  if (y && y->type == TensorType::INT16 && op.info()->has(Trait::Binary) && op.operand(0) && op.operand(1) &&
      op.operand(0)->shape != op.operand(1)->shape && op.result()->rank() > 4)
    return "runtimes broadcast 16 bits to four dimensions only";
  if (y && boundsOverflow(op, scaleOf(y)))
    return "the bound of its activation is more steps of its result's scale than 32 bits hold";
  if (op.code == Op::SCATTER_ND && second && second->quantization->zeroPoint[0] != 0)
    return "places that nothing is written to hold the integer 0, which is not the number 0 with its operand's zero "
           "point";
  if (!llvm::is_contained({Op::RSQRT, Op::REDUCE_PROD, Op::HARD_SWISH, Op::SOFTMAX}, op.code))
    return {};
  if (!x || decision.results.empty() || !decision.results[0])
    return "its operand and its result are not both floats";
  if (op.code == Op::RSQRT && x->quantization->zeroPoint[0] != (x->type == TensorType::INT8 ? -128 : -32768))
    return "integers below zero, which its operand could be, are refused when it runs";
  if (op.code == Op::RSQRT && x->type == TensorType::INT8) {
    double factor = 1 / (std::sqrt(double{scaleOf(x)}) * scaleOf(decision.results[0]));
    if (!(factor >= 0x1p-11 && factor < 0x1p49))
      return farApart;
  }
  if (op.code == Op::REDUCE_PROD) { // scaled after each factor
    double factors = static_cast<double>(op.operand(0)->elementCount().value_or(1)) /
                     static_cast<double>(std::max<uint64_t>(1, op.result()->elementCount().value_or(1)));
    if (!(scaleOf(x) / std::pow(double{scaleOf(decision.results[0])}, 1 / std::max(1., factors)) < 0x1p13))
      return farApart;
  }
  if (op.code == Op::HARD_SWISH && scaleOf(x) / 128 >= scaleOf(decision.results[0]))
    return "its result's scale would be too small for the operand's";
  if (op.code == Op::SOFTMAX && x->type == TensorType::INT8) {
    const auto *options = op.options.as<circle::SoftmaxOptions>();
    if (!options || !(static_cast<double>(options->beta()) * scaleOf(x) * 0x1p26 > 1))
      return "beta times its operand's scale would be too small";
  }
  return {};
}

std::optional<Weights> weightsOf(const Operator &op) {
  const Constraint *row = constraintOf(op.code);
  if (!row || row->bias < 0)
    return std::nullopt;
  for (const eval::Kernel &kernel : eval::kernelsOf(op.code))
    for (auto [i, slot] : llvm::enumerate(kernel.signature.operands))
      if (slot.scales & eval::SlotRule::Channels && slot.axis && op.operand(i) && op.operand(i)->isConstant()) {
        int axis = *slot.axis;
        return Weights{static_cast<unsigned>(i), axis < 0 ? axis + op.operand(i)->rank() : axis};
      }
  return std::nullopt;
}

std::optional<Weights> weightsAlone(const Operator &op) {
  auto isConstant = [&](unsigned i) { return op.operand(i) && op.operand(i)->isConstant(); };
  if (op.code == Op::EMBEDDING_LOOKUP && isConstant(1) && op.operand(1)->rank() >= 1)
    return Weights{1, 0};
  if (const auto *options = op.code == Op::BATCH_MATMUL ? op.options.as<circle::BatchMatMulOptions>() : nullptr)
    for (unsigned i : {1u, 0u})
      if (isConstant(i) && op.operand(i)->rank() >= 2)
        return Weights{i, op.operand(i)->rank() - ((i == 1) == options->adjoint_rhs() ? 2 : 1)};
  return weightsOf(op);
}

unsigned inputOf(const Operator &op) { return op.code == Op::TRANSPOSE_CONV ? 2 : 0; }

} // namespace origo::quantize
