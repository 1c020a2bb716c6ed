#include "eval/FixedPointFunctions.h"
#include "eval/Kernels.h"
#include "eval/kernels/Compare.h"

/// Elementwise operators of two quantised operands that need more than ADD and MUL do.
namespace origo::eval {

namespace {

/// Compares real numbers, in steps of 1/256 of them.
template <class T> llvm::Error compareQuantized(KernelContext &ctx) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  Multiplier ofA = quantizeMultiplier(static_cast<double>(a.scale()));
  Multiplier ofB = quantizeMultiplier(static_cast<double>(b.scale()));
  return compareAs<T, int32_t>(
      ctx, [&](T x) { return multiply((x - a.zeroPoint()) * 256, ofA); },
      [&](T y) { return multiply((y - b.zeroPoint()) * 256, ofB); });
}

/// Of 16 bits only EQUAL and NOT_EQUAL look at scales, and only where both operands have one.
llvm::Error equalInt16(KernelContext &ctx) {
  auto hasScale = [](const Tensor &tensor) { return tensor.quantization && !tensor.quantization->scale.empty(); };
  if (hasScale(ctx.input(0)) && hasScale(ctx.input(1)))
    return compareQuantized<int16_t>(ctx);
  auto same = [](int16_t x) { return x; };
  return compareAs<int16_t, int16_t>(ctx, same, same);
}

template <class T> llvm::Error squaredDifferenceQuantized(KernelContext &ctx) {
  constexpr int spare = 7;
  const Tensor &a = ctx.input(0), &b = ctx.input(1), &result = *ctx.outputs[0];
  double common = 2.0 * static_cast<double>(std::max(a.scale(), b.scale()));
  Multiplier ofA = quantizeMultiplier(static_cast<double>(a.scale()) / common);
  Multiplier ofB = quantizeMultiplier(static_cast<double>(b.scale()) / common);
  Multiplier back = quantizeMultiplier(common * common / ((1 << 2 * spare) * static_cast<double>(result.scale())));
  return zip<T, T>(ctx, [&](T x, T y, const char *&) {
    int32_t left = multiply((x - a.zeroPoint()) * (1 << spare), ofA);
    int32_t right = multiply((y - b.zeroPoint()) * (1 << spare), ofB);
    int32_t difference = wrappingSub(left, right);
    return saturate<T>(wrappingAdd(multiply(wrappingMul(difference, difference), back), result.zeroPoint()));
  });
}

template <class T> llvm::Error divideQuantized(KernelContext &ctx) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1), &result = *ctx.outputs[0];
  Multiplier factor = quantizeMultiplier(static_cast<double>(a.scale() / (b.scale() * result.scale())));
  auto [low, high] = quantizedActivationRange<T>(ctx.options<circle::DivOptions>().fused_activation_function(), result);
  return zip<T, T>(ctx, [&, low = low, high = high](T x, T y, const char *&refused) -> T {
    int32_t dividend = x - a.zeroPoint(), divisor = y - b.zeroPoint();
    if (divisor == 0) {
      refused = "division by zero";
      return 0;
    }
    if (divisor < 0) {
      dividend = -dividend;
      divisor = -divisor;
    }
    auto [inverse, bitsOverOne] = reciprocalOf(divisor, 31);
    // The dividend fills its 32 bits, the sign aside.
    int headroom = llvm::countl_zero(static_cast<uint32_t>(dividend < 0 ? ~dividend : dividend)) - 1;
    int32_t quotient =
        saturatingRoundingDoublingHighMul(static_cast<int32_t>(static_cast<uint32_t>(dividend) << headroom), inverse);
    Multiplier scaled{factor.mantissa, factor.shift - bitsOverOne - headroom};
    int32_t value = scaled.shift < -31 ? 0 : multiply(quotient, {scaled.mantissa, std::min(scaled.shift, 30)});
    return static_cast<T>(std::clamp(wrappingAdd(value, result.zeroPoint()), low, high));
  });
}

} // namespace

llvm::ArrayRef<KernelRow> binaryQuantizedKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
#define COMPARISON(code)                                                                                               \
  {Op::code, "i8{t}, i8{t} -> bool", compareQuantized<int8_t>},                                                        \
      {Op::code, "u8{t}, u8{t} -> bool", compareQuantized<uint8_t>}
      COMPARISON(EQUAL),
      COMPARISON(NOT_EQUAL),
      COMPARISON(LESS),
      COMPARISON(LESS_EQUAL),
      COMPARISON(GREATER),
      COMPARISON(GREATER_EQUAL),
#undef COMPARISON
      {Op::EQUAL, "i16{n|t}, i16{n|t} -> bool", equalInt16},
      {Op::NOT_EQUAL, "i16{n|t}, i16{n|t} -> bool", equalInt16},
      {Op::SQUARED_DIFFERENCE, "i8{t}, i8{t} -> i8{t}", squaredDifferenceQuantized<int8_t>},
      {Op::DIV, "u8{t}, u8{t} -> u8{t}", divideQuantized<uint8_t>},
      {Op::DIV, "i8{t}, i8{t} -> i8{t}", divideQuantized<int8_t>},
      {Op::DIV, "i16{t}, i16{t} -> i16{t}", divideQuantized<int16_t>},
  };
  return rows;
}

} // namespace origo::eval
