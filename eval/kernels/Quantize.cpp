#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Numbers.h"
#include "eval/RealNumbers.h"
#include "eval/Shapes.h"
#include "eval/kernels/Hybrid.h"
#include "eval/kernels/Wider.h"

namespace origo::eval {

namespace {

/// Which channel element i belongs to, for scales along an axis.
struct ChannelOf {
  int64_t inner = 1, channels = 1;
  int64_t operator()(int64_t i) const { return channels == 1 ? 0 : i / inner % channels; }
  explicit ChannelOf(const Tensor &tensor) {
    if (!tensor.perChannel())
      return;
    int32_t axis = tensor.quantization->dimension;
    channels = static_cast<int64_t>(tensor.quantization->scale.size());
    inner = product(tensor.shape, axis + 1, tensor.rank());
  }
};

/// real = scale · (q − zero point); a single scale is multiplied in double, several in float.
template <class T> llvm::Error dequantize(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &output = ctx.output();
  ChannelOf channel(in);
  auto x = weightsOf<T>(in);
  auto out = output.as<float>();
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t c = channel(i);
    out[i] = in.perChannel()
                 ? in.scaleOf(c) * static_cast<float>(x[i] - in.zeroPointOf(c))
                 : static_cast<float>(static_cast<double>(in.scale()) * static_cast<double>(x[i] - in.zeroPoint()));
  }
  return llvm::Error::success();
}

llvm::Error widenHalf(KernelContext &ctx) {
  Tensor &output = ctx.output();
  llvm::transform(ctx.input(0).as<uint16_t>(), output.as<float>().begin(), halfToFloat);
  return llvm::Error::success();
}

llvm::Error widenFloat8(KernelContext &ctx) {
  copyNumbers(ctx.input(0), ctx.output());
  return llvm::Error::success();
}

template <class T> llvm::Error quantize(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &result = ctx.output();
  ChannelOf channel(result);
  auto x = in.as<float>();
  auto out = result.as<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t c = channel(i);
    double scaled = std::round(static_cast<double>(x[i]) / static_cast<double>(result.scaleOf(c)));
    double number = (std::isnan(scaled) ? 0.0 : scaled) + result.zeroPointOf(c);
    out[i] = static_cast<T>(std::clamp(number, static_cast<double>(std::numeric_limits<T>::min()),
                                       static_cast<double>(std::numeric_limits<T>::max())));
  }
  return llvm::Error::success();
}

template <class In, class Out> llvm::Error requantize(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &result = ctx.output();
  ChannelOf from(in), to(result);
  llvm::SmallVector<Multiplier, 1> factors; // by channel of the operand, then of the result
  for (int64_t c = 0; c < from.channels; ++c)
    for (int64_t d = 0; d < to.channels; ++d)
      factors.push_back(
          quantizeMultiplier(static_cast<double>(in.scaleOf(c)) / static_cast<double>(result.scaleOf(d))));
  auto x = in.as<In>();
  auto out = result.as<Out>();
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t c = from(i), d = to(i);
    int32_t value = multiply(wrappingSub<int32_t>(x[i], in.zeroPointOf(c)), factors[c * to.channels + d]);
    out[i] = static_cast<Out>(std::clamp<int32_t>(wrappingAdd(value, result.zeroPointOf(d)),
                                                  std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max()));
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> quantizeKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::DEQUANTIZE, "i8{t|c} -> f32", dequantize<int8_t>},
      {Op::DEQUANTIZE, "u8{t|c} -> f32", dequantize<uint8_t>},
      {Op::DEQUANTIZE, "i16{t|c} -> f32", dequantize<int16_t>},
      {Op::DEQUANTIZE, "i32{t|c} -> f32", dequantize<int32_t>},
      {Op::DEQUANTIZE, "i64{t|c} -> f32", dequantize<int64_t>}, // biases of what is quantised to 16 bits
      {Op::DEQUANTIZE, "i4{t|c} -> f32", dequantize<int8_t>},
      {Op::DEQUANTIZE, "f16 -> f32", widenHalf},
      {Op::DEQUANTIZE, "i2|u4{t|c} -> f32", computeWider},
      {Op::DEQUANTIZE, "f8e4m3fn|f8e5m2 -> f32", widenFloat8},
      {Op::QUANTIZE, "f32 -> i8{t|c}", quantize<int8_t>},
      {Op::QUANTIZE, "f32 -> u8{t|c}", quantize<uint8_t>},
      {Op::QUANTIZE, "f32 -> i16{t|c}", quantize<int16_t>},
      {Op::QUANTIZE, "i8{t|c} -> i8{t|c}", requantize<int8_t, int8_t>},
      {Op::QUANTIZE, "i8{t|c} -> u8{t|c}", requantize<int8_t, uint8_t>},
      {Op::QUANTIZE, "u8{t|c} -> i8{t|c}", requantize<uint8_t, int8_t>},
      {Op::QUANTIZE, "u8{t|c} -> u8{t|c}", requantize<uint8_t, uint8_t>},
      {Op::QUANTIZE, "i16{t|c} -> i16{t|c}", requantize<int16_t, int16_t>},
      {Op::QUANTIZE, "i16{t|c} -> i8{t|c}", requantize<int16_t, int8_t>},
      {Op::QUANTIZE, "i16{t|c} -> u8{t|c}", requantize<int16_t, uint8_t>},
      {Op::QUANTIZE, "i8{t|c} -> i16{t|c}", requantize<int8_t, int16_t>},
      {Op::QUANTIZE, "u8{t|c} -> i16{t|c}", requantize<uint8_t, int16_t>},
      {Op::QUANTIZE, "i16{t|c} -> i32{t}", requantize<int16_t, int32_t>},
      {Op::QUANTIZE, "i32{t} -> i8{t|c}", requantize<int32_t, int8_t>},
      {Op::QUANTIZE, "i32{t} -> i16{t|c}", requantize<int32_t, int16_t>},
      {Op::QUANTIZE, "f32 -> i4|u4{t|c}", computeWider},
  };
  return rows;
}

} // namespace origo::eval
