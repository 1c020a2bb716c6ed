#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/Channels.h"
#include "eval/kernels/Hybrid.h"
#include "ir/shapes/Rules.h"

namespace origo::eval {

namespace {

/// The gradient of a 2-D convolution: output [batch, height, width, channels] of a given shape, filter
/// [channels, height, width, input channels].
struct TransposedConv {
  KernelContext *ctx;
  const Tensor *input, *filter, *bias;
  Tensor *output;
  int strideH, strideW;
  int64_t top, left;
  circle::ActivationFunctionType activation;
};

llvm::Expected<TransposedConv> prepare(KernelContext &ctx) {
  const auto &options = ctx.options<circle::TransposeConvOptions>();
  const Tensor &filter = ctx.input(1), &in = ctx.input(2);
  Tensor &out = ctx.output();
  if (in.dim(3) == 0)
    return ctx.fail(2, "has no channels");
  TransposedConv c{&ctx,
                   &in,
                   &filter,
                   ctx.optional(3),
                   &out,
                   options.stride_h(),
                   options.stride_w(),
                   0,
                   0,
                   options.fused_activation_function()};
  // As the convolution from the result to the input pads.
  auto vertical = inference::positions(options.padding(), out.dim(1), filter.dim(1), c.strideH);
  auto horizontal = inference::positions(options.padding(), out.dim(2), filter.dim(2), c.strideW);
  if (!vertical || !horizontal)
    return ctx.fail("strides or the filter's size are impossible");
  c.top = paddingBefore(out.dim(1), *vertical, filter.dim(1), c.strideH);
  c.left = paddingBefore(out.dim(2), *horizontal, filter.dim(2), c.strideW);
  return c;
}

/// For each output element: `add(sum, input index, filter index)` for each input element that reaches it, in the
/// input's order, `end(sum, channel)` gives the element.
template <class Acc, class Out, class Add, class End> void gather(const TransposedConv &c, Add add, End end) {
  const Tensor &in = *c.input, &filter = *c.filter;
  int64_t depth = in.dim(3), filterHeight = filter.dim(1), filterWidth = filter.dim(2);
  auto firstReaching = [](int64_t place, int64_t size, int64_t stride) {
    return place < size ? 0 : (place - size) / stride + 1;
  };
  auto out = c.output->as<Out>();
  if (out.empty())
    return;
  uint64_t work = static_cast<uint64_t>(product(filter.shape, 1, 4));
  size_t at = 0;
  for (int64_t batch = 0; batch < in.dim(0); ++batch)
    for (int64_t y = c.top; y < c.top + c.output->dim(1); ++y)
      for (int64_t x = c.left; x < c.left + c.output->dim(2); ++x)
        for (int64_t channel = 0; channel < c.output->dim(3); ++channel) {
          if (c.ctx->late(work))
            return;
          Acc sum = 0;
          for (int64_t iy = firstReaching(y, filterHeight, c.strideH); iy < in.dim(1) && iy * c.strideH <= y; ++iy)
            for (int64_t ix = firstReaching(x, filterWidth, c.strideW); ix < in.dim(2) && ix * c.strideW <= x; ++ix) {
              int64_t i = ((batch * in.dim(1) + iy) * in.dim(2) + ix) * depth;
              int64_t fy = y - iy * c.strideH, fx = x - ix * c.strideW;
              int64_t f = ((channel * filterHeight + fy) * filterWidth + fx) * depth;
              for (int64_t k = 0; k < depth; ++k)
                add(sum, i + k, f + k);
            }
          out[at++] = end(sum, channel);
        }
}

llvm::Error transposeFloat(KernelContext &ctx) {
  auto c = prepare(ctx);
  if (!c)
    return c.takeError();
  auto in = c->input->as<float>(), filter = c->filter->as<float>();
  auto bias = c->bias ? c->bias->as<float>() : llvm::ArrayRef<float>();
  gather<float, float>(
      *c, [&](float &sum, int64_t i, int64_t f) { sum += in[i] * filter[f]; },
      [&](float sum, int64_t channel) { return activate(sum + (bias.empty() ? 0 : bias[channel]), c->activation); });
  return llvm::Error::success();
}

/// Float input and narrow weights: each picture is quantised by its own range, asymmetrically; sums are integers.
llvm::Error transposeHybrid(KernelContext &ctx) {
  auto c = prepare(ctx);
  if (!c)
    return c.takeError();
  int64_t pictures = c->input->dim(0), perPicture = pictures ? c->output->count() / pictures : 0, done = 0;
  HybridRows rows(c->input->as<float>(), pictures, true);
  auto filter = weightsOf<int8_t>(*c->filter);
  auto bias = c->bias ? c->bias->as<float>() : llvm::ArrayRef<float>();
  gather<int32_t, float>(
      *c, [&](int32_t &sum, int64_t i, int64_t f) { sum = wrappingAdd(sum, rows.elements[i] * filter[f]); },
      [&](int32_t sum, int64_t channel) {
        float scale = rows.scales[done++ / perPicture];
        float real = static_cast<float>(sum) * c->filter->scaleOf(channel) * scale;
        return activate(real + (bias.empty() ? 0 : bias[channel]), c->activation);
      });
  return llvm::Error::success();
}

/// Acc: the type of sums and bias.
template <class T, class W, class Acc> llvm::Error transposeQuantized(KernelContext &ctx) {
  auto c = prepare(ctx);
  if (!c)
    return c.takeError();
  auto scales =
      ChannelScales::of<T>(ctx, *c->input, *c->filter, *c->output, c->output->dim(3), c->activation,
                           std::is_same_v<T, uint8_t> ? ChannelScales::Product::Float : ChannelScales::Product::Double);
  if (!scales)
    return scales.takeError();
  auto in = c->input->as<T>();
  auto filter = weightsOf<W>(*c->filter);
  auto bias = c->bias ? c->bias->as<Acc>() : llvm::ArrayRef<Acc>();
  gather<Acc, T>(
      *c,
      [&](Acc &sum, int64_t i, int64_t f) {
        sum = wrappingAdd<Acc>(sum, Acc(in[i] - scales->inputZero) * (filter[f] - scales->filterZeroAt(f)));
      },
      [&](Acc sum, int64_t channel) {
        return scales->template scaled<T>(bias.empty() ? sum : wrappingAdd(sum, bias[channel]), channel);
      });
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> transposeConvKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::TRANSPOSE_CONV, "i32, f32[o,y,x,c], f32[n,h,w,c], f32[#o]? -> f32[n,_,_,o]", transposeFloat},
      {Op::TRANSPOSE_CONV, "i32, i8{t|c0}[o,y,x,c], f32[n,h,w,c], f32[#o]? -> f32[n,_,_,o]", transposeHybrid},
      {Op::TRANSPOSE_CONV, "i32, u8{t|c0}[o,y,x,c], u8{t}[n,h,w,c], i32[#o]? -> u8{t}[n,_,_,o]",
       transposeQuantized<uint8_t, uint8_t, int32_t>},
      {Op::TRANSPOSE_CONV, "i32, i8|i4{t|c0}[o,y,x,c], i8{t}[n,h,w,c], i32[#o]? -> i8{t}[n,_,_,o]",
       transposeQuantized<int8_t, int8_t, int32_t>},
      {Op::TRANSPOSE_CONV, "i32, i8{t|c0}[o,y,x,c], i16{t}[n,h,w,c], i64[#o]? -> i16{t}[n,_,_,o]",
       transposeQuantized<int16_t, int8_t, int64_t>},
      {Op::TRANSPOSE_CONV, "i32, i8{t|c0}[o,y,x,c], i16{t}[n,h,w,c], i32[#o] -> i16{t}[n,_,_,o]",
       transposeQuantized<int16_t, int8_t, int32_t>},
      {Op::TRANSPOSE_CONV, "i32, i16{t|c0}[o,y,x,c], i16{t}[n,h,w,c], i64[#o]? -> i16{t}[n,_,_,o]",
       transposeQuantized<int16_t, int16_t, int64_t>},
  };
  return rows;
}

} // namespace origo::eval
