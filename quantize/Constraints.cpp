#include "quantize/Constraints.h"

#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "ir/Activation.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

using Op = BuiltinOperator;

Scaling scalingOf(Op code, Dialect dialect) {
  const OperatorFacts &facts = factsOf(code);
  return dialect == Dialect::One ? facts.one : facts.tflite;
}

int biasOf(Op code) {
  const OperatorInfo *info = operatorInfo(code);
  if (!info || !info->has(Trait::Linear) || !isQuantizable(code))
    return -1;
  const auto *bias = llvm::find_if(info->operands, [](const OperandInfo &operand) { return operand.name == "bias"; });
  return static_cast<int>(bias - info->operands.begin());
}

std::optional<FixedScale> fixedScale(Op code, TensorType type, Dialect dialect) {
  const OperatorFacts &facts = factsOf(code);
  llvm::StringRef text = dialect == Dialect::One && *facts.fixedOne ? facts.fixedOne : facts.fixed;
  llvm::SmallVector<llvm::StringRef, 12> words;
  text.split(words, ' ');
  for (size_t i = 0; i + 2 < words.size(); i += 3) {
    int numerator = 0, denominator = 0, zeroPoint = 0;
    auto [above, below] = words[i + 1].split('/');
    if (words[i] == tensorTypeShortName(type) && !above.getAsInteger(10, numerator) &&
        !below.getAsInteger(10, denominator) && !words[i + 2].getAsInteger(10, zeroPoint))
      return FixedScale{static_cast<double>(numerator) / denominator, zeroPoint};
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

/// Pools have the scale of what they pool: is what the activation leaves next to nothing in its steps?
static bool isClampedToNothing(const Operator &op, float scale) {
  auto [low, high] = eval::activationRange(activationOf(op));
  return op.info()->has(Trait::Pooling) && std::isfinite(high) && high - low < 16 * scale;
}

/// How many steps of the result kernels could multiply their way to, with integers as far out as those of the operands
/// go; 0: it does not multiply, or not by more than it can.
static double mostSteps(const Operator &op, const StoragePlan::Decision &decision) {
  const Storage *y = decision.results.empty() ? nullptr : decision.results[0];
  auto reach = [&](unsigned i) {
    const Storage *storage = operandOf(decision, i);
    if (!storage)
      return 0.;
    double steps = storage->type == TensorType::INT16 ? 0x1p15 : storage->type == TensorType::INT4 ? 0x1p3 : 0x1p8;
    return steps * double{*llvm::max_element(storage->quantization->scale)};
  };
  if (!y)
    return 0;
  double most = 0;
  switch (op.code) {
  case Op::ABS:
  case Op::RELU:
  case Op::RELU6:
  case Op::RELU_N1_TO_1:
  case Op::RELU_0_TO_1:
  case Op::MEAN:
    most = reach(0);
    break;
  case Op::LEAKY_RELU:
    if (const auto *options = op.options.as<circle::LeakyReluOptions>())
      most = reach(0) * std::max(1., std::fabs(double{options->alpha()}));
    break;
  case Op::PRELU:
    most = reach(0) * std::max(1., reach(1));
    break;
  case Op::MUL:
    most = reach(0) * reach(1);
    break;
  case Op::BATCH_MATMUL: {
    const auto *options = op.options.as<circle::BatchMatMulOptions>();
    const auto &shape = op.operand(0)->shape;
    if (options && shape.size() > 1)
      most = reach(0) * reach(1) * std::max(1, shape[shape.size() - (options->adjoint_lhs() ? 2 : 1)]);
    break;
  }
  default:
    if (std::optional<Weights> weights = weightsOf(op)) {
      const Value &w = *op.operand(weights->operand);
      double products = static_cast<double>(w.elementCount().value_or(0)) / std::max(1, w.shape[weights->axis]);
      most = products * reach(inputOf(op)) * reach(weights->operand);
    }
  }
  return most / double{scaleOf(y)};
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
  bool comparesFiner = op.info()->has(Trait::Comparison) && !decision.operands.empty() &&
                       llvm::none_of(decision.operands, [&](const Storage *storage) {
                         return storage && double{scaleOf(storage)} >= 0x1p-8;
                       });
  if (comparesFiner)
    return "a comparison of integers looks at steps of 1/256, and its operands have finer ones";
  const char *farApart = "its scales would be too far apart";
  const Storage *x = operandOf(decision, 0), *second = operandOf(decision, 1);
  const Storage *y = decision.results.empty() ? nullptr : decision.results[0];
  if (y && scaleOf(y) < leastResultScale(op, decision))
    return farApart;
  if (mostSteps(op, decision) >= 0x1p30) // what runtimes multiply wraps at 2^31, in place of being clamped
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
  if (y && isClampedToNothing(op, scaleOf(y)))
    return "the bounds of its activation are less than 16 steps apart, for its result has the scale of its operand";
  // Shifted by at most 31 bits, it is a factor of 16.
  if ((op.code == Op::LOGISTIC || op.code == Op::TANH) && x && x->type == TensorType::INT16 &&
      !(scaleOf(x) >= 0x1p-30f && scaleOf(x) * 3 * 4096 < 0x1p15f))
    return "kernels of 16 bits have a table for it that its operand's scale does not fit";
  if (op.code == Op::L2_NORMALIZATION && x && scaleOf(x) < 1e-6f)
    return "kernels of integers do not see that it divides by 1e-6 at least";
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
  if (op.code == Op::HARD_SWISH && !(scaleOf(x) / 128 / (3.f / 32768) < 0x1p30f)) // which is a shift of a 32 bit 1
    return "its operand's scale would be too big";
  if (op.code == Op::SOFTMAX && x->type == TensorType::INT8) {
    const auto *options = op.options.as<circle::SoftmaxOptions>();
    if (!options || !(static_cast<double>(options->beta()) * scaleOf(x) * 0x1p26 > 1))
      return "beta times its operand's scale would be too small";
  }
  return {};
}

std::optional<Weights> weightsOf(const Operator &op) {
  if (biasOf(op.code) < 0)
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
