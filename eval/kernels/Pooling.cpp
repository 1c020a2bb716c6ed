#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"

namespace origo::eval {

namespace {

struct Pool {
  KernelContext *ctx;
  const Tensor *input;
  Tensor *output;
  const circle::Pool2DOptions *options;
  int64_t top, left; ///< how far the first window begins before the image

  explicit Pool(KernelContext &ctx)
      : ctx(&ctx), input(&ctx.input(0)), output(&ctx.output()), options(&ctx.options<circle::Pool2DOptions>()),
        top(paddingBefore(input->dim(1), output->dim(1), options->filter_height(), options->stride_h())),
        left(paddingBefore(input->dim(2), output->dim(2), options->filter_width(), options->stride_w())) {}
};

/// output = end(the sum by add over the window's part inside the image, the number of its elements)
template <class T, class Acc, class Add, class End> void pool(const Pool &p, Acc start, Add add, End end) {
  const Tensor &in = *p.input;
  int64_t height = in.dim(1), width = in.dim(2), depth = in.dim(3);
  auto x = in.as<T>();
  auto out = p.output->template as<T>();
  if (out.empty())
    return;
  size_t at = 0;
  for (int64_t batch = 0; batch < in.dim(0); ++batch)
    for (int64_t oy = 0; oy < p.output->dim(1); ++oy)
      for (int64_t ox = 0; ox < p.output->dim(2); ++ox) {
        int64_t top = oy * p.options->stride_h() - p.top;
        int64_t left = ox * p.options->stride_w() - p.left;
        int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(top + p.options->filter_height(), height);
        int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + p.options->filter_width(), width);
        auto work = static_cast<uint64_t>(1 + std::max<int64_t>(0, y1 - y0) * std::max<int64_t>(0, x1 - x0));
        for (int64_t channel = 0; channel < depth; ++channel) {
          if (p.ctx->late(work))
            return;
          Acc sum = start;
          for (int64_t iy = y0; iy < y1; ++iy)
            for (int64_t ix = x0; ix < x1; ++ix)
              sum = add(sum, x[((batch * height + iy) * width + ix) * depth + channel]);
          out[at++] = end(sum, std::max<int64_t>(0, y1 - y0) * std::max<int64_t>(0, x1 - x0));
        }
      }
}

llvm::Error averageFloat(KernelContext &ctx) {
  Pool p(ctx);
  auto activation = p.options->fused_activation_function();
  pool<float>(
      p, 0.f, [](float sum, float x) { return sum + x; },
      [&](float sum, int64_t count) { return activate(count ? sum / static_cast<float>(count) : 0, activation); });
  return llvm::Error::success();
}

/// The root of the mean square.
llvm::Error l2Float(KernelContext &ctx) {
  Pool p(ctx);
  auto activation = p.options->fused_activation_function();
  pool<float>(
      p, 0.f, [](float sum, float x) { return sum + x * x; },
      [&](float sum, int64_t count) {
        return activate(count ? std::sqrt(sum / static_cast<float>(count)) : 0, activation);
      });
  return llvm::Error::success();
}

/// The numbers themselves, whatever the scale of the result: only the bounds of a fused activation are its.
template <class T> llvm::Error averageQuantized(KernelContext &ctx) {
  Pool p(ctx);
  auto [low, high] = quantizedActivationRange<T>(p.options->fused_activation_function(), *p.output);
  pool<T>(
      p, int64_t(0), [](int64_t sum, T x) { return sum + x; },
      [low = low, high = high](int64_t sum, int64_t count) {
        int64_t rounded = count == 0 ? 0 : (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
        return static_cast<T>(std::clamp<int64_t>(rounded, low, high));
      });
  return llvm::Error::success();
}

llvm::Error maxFloat(KernelContext &ctx) {
  Pool p(ctx);
  auto activation = p.options->fused_activation_function();
  pool<float>(
      p, std::numeric_limits<float>::lowest(), [](float most, float x) { return std::max(most, x); },
      [&](float most, int64_t) { return activate(most, activation); });
  return llvm::Error::success();
}

template <class T> llvm::Error maxQuantized(KernelContext &ctx) {
  Pool p(ctx);
  auto [low, high] = quantizedActivationRange<T>(p.options->fused_activation_function(), *p.output);
  pool<T>(
      p, std::numeric_limits<T>::lowest(), [](T most, T x) { return std::max(most, x); },
      [low = low, high = high](T most, int64_t) { return static_cast<T>(std::clamp<int32_t>(most, low, high)); });
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> poolingKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::AVERAGE_POOL_2D, "f32[n,h,w,c] -> f32[n,_,_,c]", averageFloat},
      {Op::AVERAGE_POOL_2D, "i8{t}[n,h,w,c] -> i8{t}[n,_,_,c]", averageQuantized<int8_t>},
      {Op::AVERAGE_POOL_2D, "u8{t}[n,h,w,c] -> u8{t}[n,_,_,c]", averageQuantized<uint8_t>},
      {Op::AVERAGE_POOL_2D, "i16{t}[n,h,w,c] -> i16{t}[n,_,_,c]", averageQuantized<int16_t>},
      {Op::L2_POOL_2D, "f32[n,h,w,c] -> f32[n,_,_,c]", l2Float},
      {Op::MAX_POOL_2D, "f32[n,h,w,c] -> f32[n,_,_,c]", maxFloat},
      {Op::MAX_POOL_2D, "i8{t}[n,h,w,c] -> i8{t}[n,_,_,c]", maxQuantized<int8_t>},
      {Op::MAX_POOL_2D, "u8{t}[n,h,w,c] -> u8{t}[n,_,_,c]", maxQuantized<uint8_t>},
      {Op::MAX_POOL_2D, "i16{t}[n,h,w,c] -> i16{t}[n,_,_,c]", maxQuantized<int16_t>},
  };
  return rows;
}

} // namespace origo::eval
