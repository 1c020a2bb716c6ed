#include "eval/Kernels.h"

#include <cmath>

namespace origo::eval {

namespace {

/// exp(βx) / Σ exp(βx) along the last axis; the largest is taken off first, so that nothing overflows.
llvm::Error softmaxFloat(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &output = ctx.output();
  float beta = ctx.options<circle::SoftmaxOptions>().beta();
  int64_t depth = in.shape.back(), rows = depth ? in.count() / depth : 0;
  const float *x = in.as<float>().data();
  float *out = output.as<float>().data();
  for (int64_t row = 0; row < rows; ++row, x += depth, out += depth) {
    float largest = *std::max_element(x, x + depth), sum = 0;
    for (int64_t i = 0; i < depth; ++i)
      sum += out[i] = std::exp((x[i] - largest) * beta);
    for (int64_t i = 0; i < depth; ++i)
      out[i] /= sum;
  }
  return llvm::Error::success();
}

llvm::Error logSoftmaxFloat(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &output = ctx.output();
  int64_t depth = in.shape.back(), rows = depth ? in.count() / depth : 0;
  const float *x = in.as<float>().data();
  float *out = output.as<float>().data();
  for (int64_t row = 0; row < rows; ++row, x += depth, out += depth) {
    float largest = *std::max_element(x, x + depth), sum = 0;
    for (int64_t i = 0; i < depth; ++i)
      sum += std::exp(x[i] - largest);
    for (int64_t i = 0; i < depth; ++i)
      out[i] = x[i] - largest - std::log(sum);
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> softmaxKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SOFTMAX, "f32[..,c] -> f32[..,c]", softmaxFloat},
      {Op::LOG_SOFTMAX, "f32[..,c] -> f32[..,c]", logSoftmaxFloat},
  };
  return rows;
}

} // namespace origo::eval
