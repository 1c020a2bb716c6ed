#include "eval/exact/Shared.h"
#include "eval/kernels/BatchMatMul.h"
#include "eval/kernels/Convolution.h"
#include "eval/kernels/Convolution3D.h"
#include "eval/kernels/TransposeConv.h"

/// Sums of products.
namespace origo::eval::exact {

using namespace loops;

namespace {

Number ended(const Context &ctx, const Sum &sum, llvm::ArrayRef<Number> bias, int64_t channel, Activation activation) {
  Number made = sum.end(ctx.math);
  return activated(ctx, bias.empty() ? made : ctx.math.add(made, bias[channel]), activation);
}

template <class Options> llvm::Error convolve2D(Context &ctx) {
  Conv conv = convolutionOf<Options>(ctx);
  auto in = numbersOf(conv.input), filter = numbersOf(conv.filter), bias = numbersOf(conv.bias);
  convolve<Sum>(
      conv, conv.output->as<Number>(), [&](Sum &sum, int64_t i, int64_t f) { sum.add(ctx.math, in[i], filter[f]); },
      [&](const Sum &sum, int64_t channel) { return ended(ctx, sum, bias, channel, conv.activation); });
  return llvm::Error::success();
}

llvm::Error transposedConvolution(Context &ctx) {
  auto c = transposedConvOf(ctx);
  if (!c)
    return c.takeError();
  auto in = numbersOf(c->input), filter = numbersOf(c->filter), bias = numbersOf(c->bias);
  gatherTransposed<Sum, Number>(
      *c, [&](Sum &sum, int64_t i, int64_t f) { sum.add(ctx.math, in[i], filter[f]); },
      [&](const Sum &sum, int64_t channel) { return ended(ctx, sum, bias, channel, c->activation); });
  return llvm::Error::success();
}

llvm::Error fullyConnected(Context &ctx) {
  const auto &options = ctx.options<circle::FullyConnectedOptions>();
  if (options.weights_format() != circle::FullyConnectedOptionsWeightsFormat::DEFAULT)
    return ctx.fail(1, "shuffled weights have no exact kernel");
  int64_t depth = ctx.input(1).dim(1), units = ctx.input(1).dim(0);
  auto in = numbersOf(&ctx.input(0)), weights = numbersOf(&ctx.input(1)), bias = numbersOf(ctx.optional(2));
  auto out = ctx.output().as<Number>();
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()) && !ctx.late(depth); ++i) {
    const Number *row = in.data() + i / units * depth, *column = weights.data() + i % units * depth;
    Sum sum;
    for (int64_t k = 0; k < depth; ++k)
      sum.add(ctx.math, row[k], column[k]);
    out[i] = ended(ctx, sum, bias, i % units, options.fused_activation_function());
  }
  return llvm::Error::success();
}

llvm::Error batchMatMul(Context &ctx) {
  auto x = ctx.input(0).as<Number>(), y = ctx.input(1).as<Number>();
  multiplyAll<Sum, Number>(
      ctx, matMulOf(ctx), [&](Sum &sum, int64_t i, int64_t j) { sum.add(ctx.math, x[i], y[j]); },
      [&](const Sum &sum, int64_t, int64_t) { return sum.end(ctx.math); });
  return llvm::Error::success();
}

template <bool transposed> llvm::Error convolve3D(Context &ctx) {
  return loops::convolve3D<Number, Sum, transposed>(
      ctx, [&](Sum &sum, const Number &x, const Number &w) { sum.add(ctx.math, x, w); },
      [&](Sum sum, const Number *bias, Activation activation) {
        if (bias)
          sum.add(ctx.math, *bias);
        return activated(ctx, sum.end(ctx.math), activation);
      });
}

} // namespace

llvm::ArrayRef<ExactKernel> productKernels() {
  static const ExactKernel rows[] = {
      {Op::BATCH_MATMUL, batchMatMul},
      {Op::CONV_2D, convolve2D<circle::Conv2DOptions>},
      {Op::CONV_3D, convolve3D<false>},
      {Op::CONV_3D_TRANSPOSE, convolve3D<true>},
      {Op::DEPTHWISE_CONV_2D, convolve2D<circle::DepthwiseConv2DOptions>},
      {Op::FULLY_CONNECTED, fullyConnected},
      {Op::TRANSPOSE_CONV, transposedConvolution},
  };
  return rows;
}

} // namespace origo::eval::exact
