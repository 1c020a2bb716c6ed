#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/Elementwise.h"

namespace origo::eval {

namespace {

circle::ActivationFunctionType boundsOf(BuiltinOperator code) {
  return code == BuiltinOperator::RELU    ? circle::ActivationFunctionType::RELU
         : code == BuiltinOperator::RELU6 ? circle::ActivationFunctionType::RELU6
                                          : circle::ActivationFunctionType::RELU_N1_TO_1;
}

llvm::Error reluFloat(KernelContext &ctx) {
  return map<float, float>(ctx, [&](float x) { return activate(x, boundsOf(ctx.op.code)); });
}

/// Requantises from the operand's scale to the result's and clamps.
template <class T> llvm::Error reluQuantized(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &result = ctx.output();
  Multiplier factor = quantizeMultiplier(static_cast<double>(in.scale()) / static_cast<double>(result.scale()));
  auto [low, high] = ctx.op.code == BuiltinOperator::RELU_0_TO_1
                         ? quantizedRange<T>(0.f, 1.f, result)
                         : quantizedActivationRange<T>(boundsOf(ctx.op.code), result);
  auto x = in.as<T>();
  auto out = result.as<T>();
  for (size_t i = 0; i < x.size(); ++i)
    out[i] =
        static_cast<T>(std::clamp(wrappingAdd(multiply(x[i] - in.zeroPoint(), factor), result.zeroPoint()), low, high));
  return llvm::Error::success();
}

llvm::Error tanhFloat(KernelContext &ctx) {
  return map<float, float>(ctx, [](float x) { return std::tanh(x); });
}

llvm::Error logisticFloat(KernelContext &ctx) {
  return map<float, float>(ctx, [](float x) { return 1.f / (1.f + std::exp(-x)); });
}

llvm::Error leakyReluFloat(KernelContext &ctx) {
  float alpha = ctx.options<circle::LeakyReluOptions>().alpha();
  return map<float, float>(ctx, [&](float x) { return x > 0 ? x : x * alpha; });
}

llvm::Error eluFloat(KernelContext &ctx) {
  return map<float, float>(ctx, [](float x) { return x < 0 ? std::expm1(x) : x; });
}

llvm::Error hardSwishFloat(KernelContext &ctx) {
  return map<float, float>(ctx, [](float x) { return x * std::min(6.f, std::max(0.f, x + 3.f)) / 6.f; });
}

llvm::Error relu0To1Float(KernelContext &ctx) {
  return map<float, float>(ctx, [](float x) { return std::min(std::max(x, 0.f), 1.f); });
}

} // namespace

llvm::ArrayRef<KernelRow> activationKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::RELU, "f32 -> f32", reluFloat},
      {Op::RELU, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::RELU, "i16{t} -> i16{t}", reluQuantized<int16_t>},
      {Op::RELU6, "f32 -> f32", reluFloat},
      {Op::RELU6, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU6, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::RELU6, "i16{t} -> i16{t}", reluQuantized<int16_t>},
      {Op::RELU_N1_TO_1, "f32 -> f32", reluFloat},
      {Op::RELU_N1_TO_1, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU_N1_TO_1, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::RELU_0_TO_1, "f32 -> f32", relu0To1Float},
      {Op::RELU_0_TO_1, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU_0_TO_1, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::TANH, "f32 -> f32", tanhFloat},
      {Op::LOGISTIC, "f32 -> f32", logisticFloat},
      {Op::LEAKY_RELU, "f32 -> f32", leakyReluFloat},
      {Op::ELU, "f32 -> f32", eluFloat},
      {Op::HARD_SWISH, "f32 -> f32", hardSwishFloat},
  };
  return rows;
}

} // namespace origo::eval
