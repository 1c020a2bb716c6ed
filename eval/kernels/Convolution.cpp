#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/Channels.h"
#include "eval/kernels/Hybrid.h"

namespace origo::eval {

namespace {

/// A 2-D convolution with its operands: input and output [batch, height, width, channels].
struct Conv {
  KernelContext *ctx;
  const Tensor *input, *filter, *bias;
  Tensor *output;
  int strideH, strideW, dilationH, dilationW;
  circle::ActivationFunctionType activation;
  bool depthwise;
  int64_t filterDepth, perGroup; ///< channels that a filter reads, and filters that read the same ones
  int64_t channelStride,
      placeStride;           ///< elements of the filter from an output channel, and from a place, to the next one
  int64_t top = 0, left = 0; ///< how far the first window begins before the image
};

/// The filter of a CONV_2D is [output channels, height, width, input channels of a group]; that of a DEPTHWISE_CONV_2D,
/// of which each input channel is a group, [1, height, width, output channels].
template <class Options> Conv prepare(KernelContext &ctx) {
  const auto &options = ctx.options<Options>();
  const Tensor &in = ctx.input(0), &filter = ctx.input(1);
  Tensor &out = ctx.output();
  constexpr bool depthwise = std::is_same_v<Options, circle::DepthwiseConv2DOptions>;
  int64_t filterDepth = depthwise ? 1 : filter.dim(3);
  Conv conv{&ctx,
            &in,
            &filter,
            ctx.optional(2),
            &out,
            options.stride_h(),
            options.stride_w(),
            options.dilation_h_factor(),
            options.dilation_w_factor(),
            options.fused_activation_function(),
            depthwise,
            filterDepth,
            out.dim(3) / (in.dim(3) / filterDepth),
            depthwise ? 1 : product(filter.shape, 1, 4),
            filter.dim(3)};
  conv.top = paddingBefore(in.dim(1), out.dim(1), filter.dim(1), conv.strideH, conv.dilationH);
  conv.left = paddingBefore(in.dim(2), out.dim(2), filter.dim(2), conv.strideW, conv.dilationW);
  return conv;
}

/// uint8 is the older scheme, with one scale for all channels.
template <class T>
constexpr auto precisionFor =
    std::is_same_v<T, uint8_t> ? ChannelScales::Product::Float : ChannelScales::Product::Double;

/// For each output element: `add(sum, input index, filter index)` is called for each filter position inside the image,
/// `end(sum, channel)` gives the element.
template <class Acc, class Out, class Add, class End>
void convolve(const Conv &c, llvm::MutableArrayRef<Out> out, Add add, End end) {
  const Tensor &in = *c.input, &filter = *c.filter;
  int64_t height = in.dim(1), width = in.dim(2), depth = in.dim(3);
  int64_t channels = c.output->dim(3);
  uint64_t work = static_cast<uint64_t>(filter.dim(1) * filter.dim(2) * c.filterDepth);
  size_t at = 0;
  for (int64_t batch = 0; batch < in.dim(0); ++batch)
    for (int64_t oy = 0; oy < c.output->dim(1); ++oy)
      for (int64_t ox = 0; ox < c.output->dim(2); ++ox)
        for (int64_t channel = 0; channel < channels; ++channel) {
          if (c.ctx->late(work))
            return;
          Acc sum = 0;
          int64_t group = channel / c.perGroup;
          for (int64_t fy = 0; fy < filter.dim(1); ++fy) {
            int64_t y = oy * c.strideH - c.top + fy * c.dilationH;
            if (y < 0 || y >= height)
              continue;
            for (int64_t fx = 0; fx < filter.dim(2); ++fx) {
              int64_t x = ox * c.strideW - c.left + fx * c.dilationW;
              if (x < 0 || x >= width)
                continue;
              int64_t i = ((batch * height + y) * width + x) * depth + group * c.filterDepth;
              int64_t f = channel * c.channelStride + (fy * filter.dim(2) + fx) * c.placeStride;
              for (int64_t k = 0; k < c.filterDepth; ++k)
                add(sum, i + k, f + k);
            }
          }
          out[at++] = end(sum, channel);
        }
}

template <class Options> llvm::Error convFloat(KernelContext &ctx) {
  Conv conv = prepare<Options>(ctx);
  auto in = conv.input->as<float>(), filter = conv.filter->as<float>();
  auto bias = conv.bias ? conv.bias->as<float>() : llvm::ArrayRef<float>();
  convolve<float>(
      conv, conv.output->as<float>(), [&](float &sum, int64_t i, int64_t f) { sum += in[i] * filter[f]; },
      [&](float sum, int64_t channel) { return activate(sum + (bias.empty() ? 0 : bias[channel]), conv.activation); });
  return llvm::Error::success();
}

/// Acc: the type of sums and bias.
template <class Options, class T, class W, class Acc> llvm::Error convQuantized(KernelContext &ctx) {
  Conv conv = prepare<Options>(ctx);
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
  Conv conv = prepare<Options>(ctx);
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
