#include "eval/exact/Shared.h"
#include "eval/kernels/Elementwise.h"

/// Rows along the last axis.
namespace origo::eval::exact {

using namespace loops;

namespace {

/// f(row of the operand, row of the result)
template <class F> llvm::Error eachRow(Context &ctx, F f) {
  const Tensor &in = ctx.input(0);
  size_t depth = in.shape.back();
  auto x = in.as<Number>();
  auto out = ctx.output().as<Number>();
  for (size_t at = 0; depth && at < x.size() && !ctx.late(depth); at += depth)
    f(x.slice(at, depth), out.slice(at, depth));
  return llvm::Error::success();
}

/// The largest is taken off first, as the kernel does.
Number largestOf(const Arithmetic &math, llvm::ArrayRef<Number> row) {
  Number most = row.front();
  for (const Number &x : row.drop_front())
    most = math.larger(most, x);
  return most;
}

llvm::Error softmax(Context &ctx) {
  Number beta = ctx.math.of(static_cast<double>(ctx.options<circle::SoftmaxOptions>().beta()));
  return eachRow(ctx, [&](llvm::ArrayRef<Number> x, llvm::MutableArrayRef<Number> out) {
    Number most = largestOf(ctx.math, x);
    Sum sum;
    for (size_t i = 0; i < x.size(); ++i) {
      out[i] = ctx.math.exponential(ctx.math.multiply(ctx.math.subtract(x[i], most), beta));
      sum.add(ctx.math, out[i]);
    }
    Number part = ctx.math.divide(ctx.math.of(1), sum.end(ctx.math));
    for (Number &number : out)
      number = ctx.math.multiply(number, part);
  });
}

llvm::Error logSoftmax(Context &ctx) {
  return eachRow(ctx, [&](llvm::ArrayRef<Number> x, llvm::MutableArrayRef<Number> out) {
    Number most = largestOf(ctx.math, x);
    Sum sum;
    for (const Number &number : x)
      sum.add(ctx.math, ctx.math.exponential(ctx.math.subtract(number, most)));
    Number logarithm = ctx.math.logarithm(sum.end(ctx.math));
    for (size_t i = 0; i < x.size(); ++i)
      out[i] = ctx.math.subtract(ctx.math.subtract(x[i], most), logarithm);
  });
}

Number sumOfSquares(const Arithmetic &math, llvm::ArrayRef<Number> row) {
  Sum sum;
  for (const Number &x : row)
    sum.add(math, x, x);
  return sum.end(math);
}

llvm::Error l2Normalize(Context &ctx) {
  Activation activation = ctx.options<circle::L2NormOptions>().fused_activation_function();
  Number least = ctx.math.of(static_cast<double>(1e-6f));
  return eachRow(ctx, [&](llvm::ArrayRef<Number> x, llvm::MutableArrayRef<Number> out) {
    Number length = ctx.math.larger(ctx.math.root(sumOfSquares(ctx.math, x)), least);
    for (size_t i = 0; i < x.size(); ++i)
      out[i] = activated(ctx, ctx.math.divide(x[i], length), activation);
  });
}

llvm::Error localResponse(Context &ctx) {
  const auto &options = ctx.options<circle::LocalResponseNormalizationOptions>();
  auto number = [&](float x) { return ctx.math.of(static_cast<double>(x)); };
  Number bias = number(options.bias()), alpha = number(options.alpha()), power = number(-options.beta());
  size_t radius = std::max(options.radius(), 0);
  return eachRow(ctx, [&](llvm::ArrayRef<Number> x, llvm::MutableArrayRef<Number> out) {
    for (size_t i = 0; i < x.size() && !ctx.late(std::min(radius, x.size())); ++i) {
      size_t first = i > radius ? i - radius : 0,
             end = std::min(x.size() - i > radius ? i + radius + 1 : x.size(), x.size());
      Number squares = sumOfSquares(ctx.math, x.slice(first, end - first));
      out[i] = ctx.math.multiply(x[i], ctx.math.power(ctx.math.add(bias, ctx.math.multiply(alpha, squares)), power));
    }
  });
}

llvm::Error rmsNorm(Context &ctx) {
  Number epsilon = ctx.math.of(static_cast<double>(ctx.options<circle::RmsNormOptions>().epsilon()));
  auto gamma = ctx.input(1).as<Number>();
  int64_t depth = ctx.input(0).shape.back();
  if (static_cast<int64_t>(gamma.size()) != depth && gamma.size() != 1)
    return ctx.fail(1, "does not have an element for each channel");
  Number part = ctx.math.divide(ctx.math.of(1), ctx.math.ofInteger(std::max<int64_t>(depth, 1)));
  return eachRow(ctx, [&](llvm::ArrayRef<Number> x, llvm::MutableArrayRef<Number> out) {
    Number mean = ctx.math.multiply(sumOfSquares(ctx.math, x), part);
    Number factor = ctx.math.divide(ctx.math.of(1), ctx.math.root(ctx.math.add(mean, epsilon)));
    for (size_t i = 0; i < x.size(); ++i)
      out[i] = ctx.math.multiply(ctx.math.multiply(x[i], factor), gamma[gamma.size() == 1 ? 0 : i]);
  });
}

llvm::Error instanceNorm(Context &ctx) {
  const auto &options = ctx.options<circle::InstanceNormOptions>();
  const Arithmetic &math = ctx.math;
  const Tensor &in = ctx.input(0);
  int64_t channels = in.dim(3), pixels = static_cast<int64_t>(in.dim(1)) * in.dim(2);
  auto gamma = ctx.input(1).as<Number>(), beta = ctx.input(2).as<Number>();
  for (unsigned i : {1u, 2u})
    if (ctx.input(i).count() != channels && ctx.input(i).count() != 1)
      return ctx.fail(i, "does not have an element for each channel");
  Number epsilon = math.of(static_cast<double>(options.epsilon()));
  Number part = math.divide(math.of(1), math.ofInteger(std::max<int64_t>(pixels, 1)));
  const Number *x = in.as<Number>().data();
  Number *out = ctx.output().as<Number>().data();
  for (int64_t batch = 0; batch < in.dim(0); ++batch, x += pixels * channels, out += pixels * channels)
    for (int64_t c = 0; c < channels && !ctx.late(pixels); ++c) {
      Sum sum, squares;
      for (int64_t i = 0; i < pixels; ++i)
        sum.add(math, x[i * channels + c]);
      Number mean = math.multiply(sum.end(math), part);
      for (int64_t i = 0; i < pixels; ++i) {
        Number difference = math.subtract(x[i * channels + c], mean);
        squares.add(math, difference, difference);
      }
      Number variance = math.multiply(squares.end(math), part);
      Number factor = math.divide(gamma[gamma.size() == 1 ? 0 : c], math.root(math.add(variance, epsilon)));
      Number offset = math.subtract(beta[beta.size() == 1 ? 0 : c], math.multiply(mean, factor));
      for (int64_t i = 0; i < pixels; ++i)
        out[i * channels + c] = activated(ctx, math.add(math.multiply(x[i * channels + c], factor), offset),
                                          options.fused_activation_function());
    }
  return llvm::Error::success();
}

llvm::Error rotaryEmbedding(Context &ctx) {
  const Tensor &in = ctx.input(0), &sine = ctx.input(1), &cosine = ctx.input(2), &result = ctx.output();
  int64_t depth = in.shape.back(), half = depth / 2, i = 0;
  if (depth % 2)
    return ctx.fail(0, "has rows of an odd length");
  bool halves = ctx.options<circle::RoPEOptions>().mode() == circle::RoPEMode::GPT_NEOX;
  auto x = in.as<Number>();
  auto out = ctx.output().as<Number>();
  for (Broadcast at(result.shape, {sine.shape, cosine.shape}); !at.done() && !ctx.late(); at.next(), ++i) {
    bool first = halves ? i % depth < half : i % 2 == 0;
    int64_t step = halves ? half : 1;
    Number rotated = first ? ctx.math.negate(x[i + step]) : x[i - step];
    out[i] = ctx.math.add(ctx.math.multiply(x[i], cosine.as<Number>()[at.index(1)]),
                          ctx.math.multiply(rotated, sine.as<Number>()[at.index(0)]));
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<ExactKernel> rowKernels() {
  static const ExactKernel rows[] = {
      {Op::INSTANCE_NORM, instanceNorm},
      {Op::L2_NORMALIZATION, l2Normalize},
      {Op::LOCAL_RESPONSE_NORMALIZATION, localResponse},
      {Op::LOG_SOFTMAX, logSoftmax},
      {Op::RMS_NORM, rmsNorm},
      {Op::ROPE, rotaryEmbedding},
      {Op::SOFTMAX, softmax},
  };
  return rows;
}

} // namespace origo::eval::exact
