#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/Elementwise.h"

/// x where it is not negative, alpha · x elsewhere.
namespace origo::eval {

namespace {

llvm::Error preluFloat(KernelContext &ctx) {
  return zip<float, float>(ctx, [](float x, float alpha, const char *&) { return x >= 0 ? x : x * alpha; });
}

template <class T> llvm::Error preluQuantized(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &alpha = ctx.input(1), &result = *ctx.outputs[0];
  Multiplier above = quantizeMultiplier(static_cast<double>(in.scale() / result.scale()));
  Multiplier below = quantizeMultiplier(static_cast<double>(in.scale() * alpha.scale() / result.scale()));
  return zip<T, T>(ctx, [&](T x, T a, const char *&) {
    int32_t value = x - in.zeroPoint();
    int32_t scaled = value >= 0 ? multiply(value, above) : multiply(value * (a - alpha.zeroPoint()), below);
    return saturate<T>(wrappingAdd(scaled, result.zeroPoint()));
  });
}

} // namespace

llvm::ArrayRef<KernelRow> preluKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::PRELU, "f32, f32 -> f32", preluFloat},
      {Op::PRELU, "i8{t}, i8{t} -> i8{t}", preluQuantized<int8_t>},
      {Op::PRELU, "u8{t}, u8{t} -> u8{t}", preluQuantized<uint8_t>},
  };
  return rows;
}

} // namespace origo::eval
