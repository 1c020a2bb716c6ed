#include "eval/kernels/Convolution.h"
#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/Channels.h"
#include "eval/kernels/Hybrid.h"

namespace origo::eval {

using namespace loops;

namespace {

/// uint8 is the older scheme, with one scale for all channels.
template <class T>
constexpr auto precisionFor =
    std::is_same_v<T, uint8_t> ? ChannelScales::Product::Float : ChannelScales::Product::Double;

template <class Options> llvm::Error convFloat(KernelContext &ctx) {
  Conv conv = convolutionOf<Options>(ctx);
  auto in = conv.input->as<float>(), filter = conv.filter->as<float>();
  auto bias = conv.bias ? conv.bias->as<float>() : llvm::ArrayRef<float>();
  convolve<float>(
      conv, conv.output->as<float>(), [&](float &sum, int64_t i, int64_t f) { sum += in[i] * filter[f]; },
      [&](float sum, int64_t channel) { return activate(sum + (bias.empty() ? 0 : bias[channel]), conv.activation); });
  return llvm::Error::success();
}

/// Acc: the type of sums and bias.
template <class Options, class T, class W, class Acc> llvm::Error convQuantized(KernelContext &ctx) {
  Conv conv = convolutionOf<Options>(ctx);
  auto channels = ChannelScales::of<T>(ctx, *conv.input, *conv.filter, *conv.output, conv.output->dim(3),
                                       conv.activation, precisionFor<T>);
  if (!channels)
    return channels.takeError();
  channels->roundOnce = std::is_same_v<T, int8_t> && !conv.depthwise;
  auto in = conv.input->as<T>();
  auto filter = weightsOf<W>(*conv.filter);
  auto bias = conv.bias ? conv.bias->as<Acc>() : llvm::ArrayRef<Acc>();
  convolve<Acc>(
      conv, conv.output->as<T>(),
      [&](Acc &sum, int64_t i, int64_t f) {
        sum = wrappingAdd<Acc>(sum, Acc(in[i] - channels->inputZero) * (filter[f] - channels->filterZeroAt(f)));
      },
      [&](Acc sum, int64_t channel) {
        return channels->template scaled<T>(bias.empty() ? sum : wrappingAdd(sum, bias[channel]), channel);
      });
  return llvm::Error::success();
}

/// Float input and narrow weights: each picture is quantised by its own range, sums are integers.
template <class Options> llvm::Error convHybrid(KernelContext &ctx) {
  Conv conv = convolutionOf<Options>(ctx);
  const Tensor &in = *conv.input, &filter = *conv.filter;
  HybridRows rows(in.as<float>(), in.dim(0), convolvesAsymmetrically(conv.depthwise, filter));
  auto weights = weightsOf<int8_t>(filter);
  auto bias = conv.bias ? conv.bias->as<float>() : llvm::ArrayRef<float>();
  int64_t perPicture = in.dim(0) ? conv.output->count() / in.dim(0) : 0, done = 0;
  convolve<int32_t>(
      conv, conv.output->as<float>(),
      [&](int32_t &sum, int64_t i, int64_t f) { sum = wrappingAdd(sum, rows.elements[i] * weights[f]); },
      [&](int32_t sum, int64_t channel) {
        float scale = rows.scales[done++ / perPicture];
        float real = static_cast<float>(sum) * filter.scaleOf(channel) * scale;
        return activate(real + (bias.empty() ? 0 : bias[channel]), conv.activation);
      });
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> convolutionKernels() {
  using Op = BuiltinOperator;
  using Full = circle::Conv2DOptions;
  using Depthwise = circle::DepthwiseConv2DOptions;
  static const KernelRow rows[] = {
      {Op::CONV_2D, "f32[n,h,w,c], f32[o,y,x,i], f32[#o]? -> f32[n,_,_,o]", convFloat<Full>},
      {Op::CONV_2D, "f32[n,h,w,c], i8|i4{t|c0}[o,y,x,i], f32[#o]? -> f32[n,_,_,o]", convHybrid<Full>},
      {Op::CONV_2D, "i8{t}[n,h,w,c], i8|i4{t|c0}[o,y,x,i], i32[#o]? -> i8{t}[n,_,_,o]",
       convQuantized<Full, int8_t, int8_t, int32_t>},
      {Op::CONV_2D, "u8{t}[n,h,w,c], u8{t|c0}[o,y,x,i], i32[#o]? -> u8{t}[n,_,_,o]",
       convQuantized<Full, uint8_t, uint8_t, int32_t>},
      {Op::CONV_2D, "i16{t}[n,h,w,c], i8{t|c0}[o,y,x,i], i64[#o]? -> i16{t}[n,_,_,o]",
       convQuantized<Full, int16_t, int8_t, int64_t>},
      {Op::CONV_2D, "i16{t}[n,h,w,c], i8{t|c0}[o,y,x,i], i32[#o] -> i16{t}[n,_,_,o]",
       convQuantized<Full, int16_t, int8_t, int32_t>},
      {Op::DEPTHWISE_CONV_2D, "f32[n,h,w,c], f32[1,y,x,o], f32[#o]? -> f32[n,_,_,o]", convFloat<Depthwise>},
      {Op::DEPTHWISE_CONV_2D, "f32[n,h,w,c], i8{t|c3}[1,y,x,o], f32[#o]? -> f32[n,_,_,o]", convHybrid<Depthwise>},
      {Op::DEPTHWISE_CONV_2D, "i8{t}[n,h,w,c], i8|i4{t|c3}[1,y,x,o], i32[#o]? -> i8{t}[n,_,_,o]",
       convQuantized<Depthwise, int8_t, int8_t, int32_t>},
      {Op::DEPTHWISE_CONV_2D, "u8{t}[n,h,w,c], u8{t|c3}[1,y,x,o], i32[#o]? -> u8{t}[n,_,_,o]",
       convQuantized<Depthwise, uint8_t, uint8_t, int32_t>},
      {Op::DEPTHWISE_CONV_2D, "i16{t}[n,h,w,c], i8{t|c3}[1,y,x,o], i64[#o]? -> i16{t}[n,_,_,o]",
       convQuantized<Depthwise, int16_t, int8_t, int64_t>},
      {Op::CONV_2D, "i16{t}[n,h,w,c], i16{t|c0}[o,y,x,i], i64[#o]? -> i16{t}[n,_,_,o]",
       convQuantized<Full, int16_t, int16_t, int64_t>},
      {Op::DEPTHWISE_CONV_2D, "i16{t}[n,h,w,c], i16{t|c3}[1,y,x,o], i64[#o]? -> i16{t}[n,_,_,o]",
       convQuantized<Depthwise, int16_t, int16_t, int64_t>},
  };
  return rows;
}

} // namespace origo::eval
