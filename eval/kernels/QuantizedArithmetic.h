#pragma once

#include "eval/FixedPoint.h"
#include "eval/Kernel.h"

/// ADD, SUB and MUL of two quantised numbers.
namespace origo::eval {

inline circle::ActivationFunctionType fusedActivation(const KernelContext &ctx) {
  switch (ctx.op.code) {
  case BuiltinOperator::ADD:
    return ctx.options<circle::AddOptions>().fused_activation_function();
  case BuiltinOperator::SUB:
    return ctx.options<circle::SubOptions>().fused_activation_function();
  case BuiltinOperator::MUL:
    return ctx.options<circle::MulOptions>().fused_activation_function();
  case BuiltinOperator::DIV:
    return ctx.options<circle::DivOptions>().fused_activation_function();
  default:
    return circle::ActivationFunctionType::NONE;
  }
}

/// Both operands are brought to a common scale, twice the larger one, with `spare` bits to the right of the point.
template <class T, int spare> class QuantizedSum {
public:
  QuantizedSum(const KernelContext &ctx, const Tensor &result)
      : zeroA(ctx.input(0).zeroPoint()), zeroB(ctx.input(1).zeroPoint()), zero(result.zeroPoint()),
        subtract(ctx.op.code == BuiltinOperator::SUB) {
    float a = ctx.input(0).scale(), b = ctx.input(1).scale();
    double common = 2.0 * static_cast<double>(std::max(a, b));
    ofA = quantizeMultiplier(a / common);
    ofB = quantizeMultiplier(b / common);
    back = quantizeMultiplier(common / ((1 << spare) * static_cast<double>(result.scale())));
    std::tie(low, high) = quantizedActivationRange<T>(fusedActivation(ctx), result);
  }
  T operator()(T x, T y) const {
    int32_t left = multiply(wrappingMul<int32_t>(x - zeroA, 1 << spare), ofA);
    int32_t right = multiply(wrappingMul<int32_t>(y - zeroB, 1 << spare), ofB);
    int32_t sum = subtract ? wrappingSub(left, right) : wrappingAdd(left, right);
    return static_cast<T>(std::clamp(wrappingAdd(multiply(sum, back), zero), low, high));
  }

private:
  Multiplier ofA, ofB, back;
  int32_t zeroA, zeroB, zero, low = 0, high = 0;
  bool subtract;
};

/// Of 16 bits, where all scales are powers of two and nothing forbids it: one operand is shifted to the other's scale.
class ShiftedSum {
public:
  /// Nothing where the sum has to be scaled as others are: there are other scales, or both operands would be shifted.
  static std::optional<ShiftedSum> of(const KernelContext &ctx, const Tensor &result) {
    bool allowed = ctx.op.code == BuiltinOperator::SUB ? ctx.options<circle::SubOptions>().pot_scale_int16()
                                                       : ctx.options<circle::AddOptions>().pot_scale_int16();
    auto a = exponentOf(ctx.input(0).scale()), b = exponentOf(ctx.input(1).scale()), out = exponentOf(result.scale());
    if (!allowed || !a || !b || !out)
      return std::nullopt;
    ShiftedSum made;
    made.rightA = *out - *a;
    made.rightB = *out - *b;
    if (made.rightA < 0 || made.rightB < 0 || (made.rightA && made.rightB) || made.rightA + made.rightB > 15)
      return std::nullopt;
    made.subtract = ctx.op.code == BuiltinOperator::SUB;
    std::tie(made.low, made.high) = quantizedActivationRange<int16_t>(fusedActivation(ctx), result);
    return made;
  }
  int16_t operator()(int16_t x, int16_t y) const {
    int32_t left = roundingDivideByPOT(x, rightA), right = roundingDivideByPOT(y, rightB);
    return static_cast<int16_t>(std::clamp(subtract ? left - right : left + right, low, high));
  }

private:
  int rightA = 0, rightB = 0;
  int32_t low = 0, high = 0;
  bool subtract = false;
};

template <class T> class QuantizedProduct {
public:
  QuantizedProduct(const KernelContext &ctx, const Tensor &result)
      : zeroA(ctx.input(0).zeroPoint()), zeroB(ctx.input(1).zeroPoint()), zero(result.zeroPoint()) {
    // In float, as the runtime does.
    factor = quantizeMultiplier(static_cast<double>(ctx.input(0).scale() * ctx.input(1).scale() / result.scale()));
    std::tie(low, high) = quantizedActivationRange<T>(fusedActivation(ctx), result);
  }
  T operator()(T x, T y) const {
    int32_t product = wrappingMul<int32_t>(x - zeroA, y - zeroB);
    return static_cast<T>(std::clamp(wrappingAdd(multiply(product, factor), zero), low, high));
  }

private:
  Multiplier factor;
  int32_t zeroA, zeroB, zero, low = 0, high = 0;
};

} // namespace origo::eval
