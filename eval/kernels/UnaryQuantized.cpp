#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/InverseRoot.h"
#include "eval/kernels/LookupTable.h"

/// Elementwise functions of one quantised operand, but for activations.
namespace origo::eval {

namespace {

template <class T> llvm::Error absolute(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &result = *ctx.outputs[0];
  Multiplier factor = quantizeMultiplier(static_cast<double>(in.scale()) / static_cast<double>(result.scale()));
  bool rescale = in.scale() != result.scale();
  return map<T, T>(ctx, [&](T x) {
    int32_t value = std::abs(x - in.zeroPoint());
    return saturate<T>(wrappingAdd(rescale ? multiply(value, factor) : value, result.zeroPoint()));
  });
}

/// 1 / √x; an operand of zero gives the largest number.
llvm::Error reciprocalRoot8(KernelContext &ctx) {
  constexpr int spare = 20;
  const Tensor &in = ctx.input(0), &result = *ctx.outputs[0];
  Multiplier factor =
      quantizeMultiplier(1 / (std::sqrt(static_cast<double>(in.scale())) * static_cast<double>(result.scale())));
  factor.shift -= spare;
  if (factor.shift < -31 || factor.shift > 30)
    return ctx.fail("the scales are too far apart");
  bool negative = false;
  if (llvm::Error error = map<int8_t, int8_t>(ctx, [&](int8_t x) -> int8_t {
        int32_t value = x - in.zeroPoint();
        negative |= value < 0;
        if (value <= 0)
          return std::numeric_limits<int8_t>::max();
        Multiplier root = inverseRoot(value);
        root.shift += spare;
        return saturate<int8_t>(wrappingAdd(multiply(multiply(1, root), factor), result.zeroPoint()));
      }))
    return error;
  return negative ? ctx.fail(0, "has elements below zero") : llvm::Error::success();
}

/// The real number that the largest or least number of the result stands for.
template <class T> float limit(const Tensor &result, T number) {
  return result.scale() * static_cast<float>(number - result.zeroPoint());
}

llvm::Error reciprocalRoot16(KernelContext &ctx) {
  float most = limit<int16_t>(*ctx.outputs[0], 32767);
  if (llvm::Error error = mapByTable16(ctx, [&](float x) { return x > 0 ? 1 / std::sqrt(x) : most; }))
    return error;
  for (int16_t x : ctx.input(0).as<int16_t>())
    if (x < ctx.input(0).zeroPoint())
      return ctx.fail(0, "has elements below zero");
  return llvm::Error::success();
}

llvm::Error logarithm8(KernelContext &ctx) {
  float least = limit<int8_t>(*ctx.outputs[0], -128);
  return mapByTable8<int8_t>(ctx, [&](float x) { return x > 0 ? std::log(x) : least; });
}
llvm::Error logarithm16(KernelContext &ctx) {
  float least = limit<int16_t>(*ctx.outputs[0], -32768);
  return mapByTable16(ctx, [&](float x) { return x > 0 ? std::log(x) : least; });
}

/// √x, of which the steps above the zero point are not rounded but cut off.
template <class T> llvm::Error root(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &result = *ctx.outputs[0];
  bool negative = false;
  if (llvm::Error error = map<T, T>(ctx, [&](T x) -> T {
        negative |= x < in.zeroPoint();
        float real = in.scale() * static_cast<float>(std::max(0, x - in.zeroPoint()));
        auto steps = static_cast<int32_t>(std::min(std::sqrt(real) / result.scale(), 1e6f));
        return saturate<T>(result.zeroPoint() + steps);
      }))
    return error;
  return negative ? ctx.fail(0, "has elements below zero") : llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> unaryQuantizedKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::ABS, "i8{t} -> i8{t}", absolute<int8_t>},  {Op::ABS, "i16{t} -> i16{t}", absolute<int16_t>},
      {Op::RSQRT, "i8{t} -> i8{t}", reciprocalRoot8}, {Op::RSQRT, "i16{t} -> i16{t}", reciprocalRoot16},
      {Op::LOG, "i8{t} -> i8{t}", logarithm8},        {Op::LOG, "i16{t} -> i16{t}", logarithm16},
      {Op::SQRT, "i8{t} -> i8{t}", root<int8_t>},     {Op::SQRT, "i16{t} -> i16{t}", root<int16_t>},
  };
  return rows;
}

} // namespace origo::eval
