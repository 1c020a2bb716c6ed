#include "eval/exact/Intervals.h"

#include "eval/FixedPoint.h"
#include "eval/RealNumbers.h"
#include "ir/Activation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace origo::eval::exact {

using Op = BuiltinOperator;

static Interval joined(Interval a, Interval b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

static Interval within(Interval a, double low, double high) {
  return {std::clamp(a.low, low, high), std::clamp(a.high, low, high)};
}

std::optional<Interval> clampOf(const Operator &op) {
  switch (op.builtinMeant()) {
  case Op::RELU:
    return Interval{0, INFINITY};
  case Op::RELU6:
    return Interval{0, 6};
  case Op::RELU_N1_TO_1:
    return Interval{-1, 1};
  case Op::RELU_0_TO_1:
    return Interval{0, 1};
  default:
    return std::nullopt;
  }
}

std::optional<Interval> fusedClampOf(const Operator &op) {
  using Activation = circle::ActivationFunctionType;
  auto activation = activationOf(op);
  if (activation == Activation::NONE || activation == Activation::TANH || activation == Activation::SIGN_BIT)
    return std::nullopt;
  auto [low, high] = activationRange(activation);
  return Interval{static_cast<double>(low), static_cast<double>(high)};
}

static Interval ofConstant(const Value &value) {
  constexpr size_t most = 1 << 16;
  if (value.type != TensorType::FLOAT32 || value.sparsity() || value.payload().bytes().size() > most)
    return {};
  Interval all{INFINITY, -INFINITY};
  llvm::ArrayRef<uint8_t> bytes = value.payload().bytes();
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float number;
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    if (std::isnan(number))
      return {};
    all = joined(all, {static_cast<double>(number), static_cast<double>(number)});
  }
  return all.low <= all.high ? all : Interval();
}

Interval intervalOf(const Operator &op, unsigned depth) {
  auto operand = [&](unsigned i) { return op.operand(i) ? intervalOf(*op.operand(i), depth + 1) : Interval(); };
  if (auto clamp = clampOf(op))
    return within(operand(0), clamp->low, clamp->high);
  switch (op.builtinMeant()) {
  case Op::MINIMUM: {
    Interval a = operand(0), b = operand(1);
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  }
  case Op::MAXIMUM: {
    Interval a = operand(0), b = operand(1);
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }
  case Op::ABS:
  case Op::SQUARE:
  case Op::SQUARED_DIFFERENCE:
  case Op::SQRT:
  case Op::RSQRT:
  case Op::EXP:
    return {0, INFINITY};
  case Op::LOGISTIC:
  case Op::SOFTMAX:
    return {0, 1};
  case Op::TANH:
  case Op::SIN:
  case Op::COS:
    return {-1, 1};
  case Op::ADD: {
    Interval a = operand(0), b = operand(1);
    return {a.low + b.low, a.high + b.high};
  }
  case Op::MUL:
  case Op::DIV: {
    Interval a = operand(0), b = operand(1);
    return a.low >= 0 && b.low >= 0 ? Interval{0, INFINITY} : Interval();
  }
  case Op::RESHAPE:
  case Op::TRANSPOSE:
  case Op::SQUEEZE:
  case Op::EXPAND_DIMS:
  case Op::SLICE:
  case Op::STRIDED_SLICE:
  case Op::TILE:
  case Op::BROADCAST_TO:
  case Op::UNPACK:
  case Op::SPLIT_V:
  case Op::GATHER:
  case Op::MAX_POOL_2D:
  case Op::AVERAGE_POOL_2D:
  case Op::MEAN:
  case Op::REDUCE_MAX:
  case Op::REDUCE_MIN:
  case Op::SPACE_TO_DEPTH:
  case Op::DEPTH_TO_SPACE:
    return operand(0);
  case Op::SPLIT:
    return operand(1);
  case Op::SUM:
    return operand(0).low >= 0 ? Interval{0, INFINITY} : Interval();
  case Op::PAD:
    return joined(operand(0), {0, 0});
  case Op::CONCATENATION:
  case Op::PACK: {
    if (op.numOperands() == 0)
      return {};
    depth += llvm::Log2_32_Ceil(op.numOperands() + 1) - 1; // as that many operators of two
    Interval all = operand(0);
    for (unsigned i = 1; i < op.numOperands(); ++i)
      all = joined(all, operand(i));
    return all;
  }
  default:
    return {};
  }
}

Interval intervalOf(const Value &value, unsigned depth) {
  constexpr unsigned deepest = 12; // each may ask two
  if (value.isConstant())
    return ofConstant(value);
  const Operator *op = value.producer();
  if (!op || depth > deepest || !isFloat(value.type))
    return {};
  Interval made = intervalOf(*op, depth);
  if (activationOf(*op) == circle::ActivationFunctionType::TANH)
    return {-1, 1};
  auto fused = fusedClampOf(*op);
  return fused ? within(made, fused->low, fused->high) : made;
}

static Interval operandOf(const Operator &op, unsigned operand) {
  if (operand == ~0u)
    return intervalOf(op);
  return op.operand(operand) ? intervalOf(*op.operand(operand)) : Interval();
}

llvm::SmallVector<Bound, 2> boundsOf(const Operator &op) {
  llvm::SmallVector<Bound, 2> bounds;
  auto add = [&](std::optional<Interval> clamp, unsigned of) {
    if (clamp && std::isfinite(clamp->low))
      bounds.push_back({false, clamp->low, of});
    if (clamp && std::isfinite(clamp->high))
      bounds.push_back({true, clamp->high, of});
  };
  add(clampOf(op), 0);
  switch (op.builtinMeant()) {
  case Op::HARD_SWISH:
    bounds = {{false, 0}, {true, 6}};
    break;
  case Op::MINIMUM:
  case Op::MAXIMUM:
    for (unsigned i : {0, 1})
      if (op.operand(i) && op.operand(i)->isConstant()) {
        Interval all = intervalOf(*op.operand(i));
        bounds.push_back({op.builtinMeant() == Op::MINIMUM, all.low == all.high ? all.low : NAN, 1 - i});
      }
    break;
  default:
    break;
  }
  add(fusedClampOf(op), ~0u);
  return bounds;
}

bool isImplied(const Operator &op, const Bound &bound) {
  Interval of = operandOf(op, bound.of);
  return bound.isUpper ? of.high <= bound.at : of.low >= bound.at;
}

} // namespace origo::eval::exact
