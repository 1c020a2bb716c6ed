#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"
#include "ir/shapes/Rules.h"

/// How TRANSPOSE_CONV goes through its operands, whatever their numbers are.
namespace origo::eval::loops {

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

inline llvm::Expected<TransposedConv> transposedConvOf(KernelContext &ctx) {
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
template <class Acc, class Out, class Add, class End> void gatherTransposed(const TransposedConv &c, Add add, End end) {
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

} // namespace origo::eval::loops
