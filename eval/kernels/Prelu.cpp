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

/// With a scale and a zero point for each index of an axis of alpha, as ONE's quantiser makes them, or an alpha of
/// fewer bits than the operand. What is computed is the runtime's for one scale, channel by channel.
template <class T, class A> llvm::Error preluByChannel(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &alpha = ctx.input(1);
  Tensor &result = ctx.output();
  Multiplier above = quantizeMultiplier(static_cast<double>(in.scale() / result.scale()));
  llvm::SmallVector<Multiplier> below;
  for (float scale : alpha.quantization->scale)
    below.push_back(quantizeMultiplier(static_cast<double>(in.scale()) * static_cast<double>(scale) /
                                       static_cast<double>(result.scale())));
  int64_t inner = product(alpha.shape, alpha.perChannel() ? alpha.quantization->dimension + 1 : 0, alpha.rank());
  auto x = in.as<T>();
  auto out = result.as<T>();
  auto alphas = alpha.as<A>();
  for (Broadcast at(result.shape, {in.shape, alpha.shape}); !at.done() && !ctx.late(); at.next()) {
    size_t channel = below.size() == 1 ? 0 : static_cast<size_t>(at.index(1) / inner) % below.size();
    int32_t value = x[at.index(0)] - in.zeroPoint();
    int32_t slope = alphas[at.index(1)] - alpha.zeroPointOf(channel);
    int32_t scaled = value >= 0 ? multiply(value, above) : multiply(wrappingMul(value, slope), below[channel]);
    out.front() = saturate<T>(wrappingAdd(scaled, result.zeroPoint()));
    out = out.drop_front();
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> preluKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::PRELU, "f32, f32 -> f32", preluFloat},
      {Op::PRELU, "i8{t}, i8{t} -> i8{t}", preluQuantized<int8_t>},
      {Op::PRELU, "u8{t}, u8{t} -> u8{t}", preluQuantized<uint8_t>},
      {Op::PRELU, "u8{t}, u8{c} -> u8{t}", preluByChannel<uint8_t, uint8_t>},
      {Op::PRELU, "i8{t}, i8{c} -> i8{t}", preluByChannel<int8_t, int8_t>},
      {Op::PRELU, "i16{t}, i16{t|c} -> i16{t}", preluByChannel<int16_t, int16_t>},
      {Op::PRELU, "i16{t}, i8{t} -> i16{t}", preluByChannel<int16_t, int8_t>},
  };
  return rows;
}

} // namespace origo::eval
