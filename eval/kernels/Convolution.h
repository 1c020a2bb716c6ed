#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

/// How a 2-D convolution goes through its operands, whatever their numbers are.
namespace origo::eval::loops {

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
template <class Options> Conv convolutionOf(KernelContext &ctx) {
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

} // namespace origo::eval::loops
