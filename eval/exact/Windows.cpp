#include "eval/exact/Shared.h"
#include "eval/kernels/Bilinear.h"
#include "eval/kernels/Pooling.h"
#include "eval/kernels/Resize.h"

#include <utility>

/// Windows of images.
namespace origo::eval::exact {

using namespace loops;

namespace {

template <bool squares> llvm::Error averagePool(Context &ctx) {
  Pool p(ctx);
  Activation activation = p.options->fused_activation_function();
  Number one = ctx.math.of(1), part;
  int64_t last = 0;
  forEachWindow<Number>(
      p, Sum(),
      [&](Sum sum, const Number &x) {
        squares ? sum.add(ctx.math, x, x) : sum.add(ctx.math, x);
        return sum;
      },
      [&](const Sum &sum, int64_t count) {
        if (count == 0)
          return activated(ctx, Number(), activation);
        if (count != std::exchange(last, count))
          part = ctx.math.divide(one, ctx.math.ofInteger(count));
        Number mean = ctx.math.multiply(sum.end(ctx.math), part);
        return activated(ctx, squares ? ctx.math.root(mean) : mean, activation);
      });
  return llvm::Error::success();
}

llvm::Error maxPool(Context &ctx) {
  Pool p(ctx);
  Activation activation = p.options->fused_activation_function();
  Number lowest = ctx.math.of(static_cast<double>(std::numeric_limits<float>::lowest()));
  forEachWindow<Number>(
      p, lowest, [&](const Number &most, const Number &x) { return ctx.math.larger(most, x); },
      [&](const Number &most, int64_t) { return activated(ctx, most, activation); });
  return llvm::Error::success();
}

/// At the places that the kernel computes, in floats; from there on exactly.
llvm::Error resizeBilinear(Context &ctx) {
  Resize r = resizeOf<circle::ResizeBilinearOptions>(ctx);
  if (r.out->count() == 0)
    return llvm::Error::success();
  Bilinear how{r.alignCorners, r.halfPixel};
  const Arithmetic &math = ctx.math;
  forEachBilinear<Number>(ctx, r, how.places(r.in->dim(1), r.height), how.places(r.in->dim(2), r.width),
                          [&](const Number &upperLeft, const Number &lowerLeft, const Number &upperRight,
                              const Number &lowerRight, float v, float h) {
                            auto mix = [&](const Number &a, const Number &b, float rest) {
                              if (rest == 0)
                                return a;
                              return math.add(a,
                                              math.multiply(math.subtract(b, a), math.of(static_cast<double>(rest))));
                            };
                            return mix(mix(upperLeft, upperRight, h), mix(lowerLeft, lowerRight, h), v);
                          });
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<ExactKernel> windowKernels() {
  static const ExactKernel rows[] = {
      {Op::AVERAGE_POOL_2D, averagePool<false>},
      {Op::L2_POOL_2D, averagePool<true>},
      {Op::MAX_POOL_2D, maxPool},
      {Op::RESIZE_BILINEAR, resizeBilinear},
  };
  return rows;
}

} // namespace origo::eval::exact
