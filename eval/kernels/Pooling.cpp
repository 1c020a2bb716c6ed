#include "eval/kernels/Pooling.h"
#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"

namespace origo::eval {

using namespace loops;

namespace {

llvm::Error averageFloat(KernelContext &ctx) {
  Pool p(ctx);
  auto activation = p.options->fused_activation_function();
  forEachWindow<float>(
      p, 0.f, [](float sum, float x) { return sum + x; },
      [&](float sum, int64_t count) { return activate(count ? sum / static_cast<float>(count) : 0, activation); });
  return llvm::Error::success();
}

/// The root of the mean square.
llvm::Error l2Float(KernelContext &ctx) {
  Pool p(ctx);
  auto activation = p.options->fused_activation_function();
  forEachWindow<float>(
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
  forEachWindow<T>(
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
  forEachWindow<float>(
      p, std::numeric_limits<float>::lowest(), [](float most, float x) { return std::max(most, x); },
      [&](float most, int64_t) { return activate(most, activation); });
  return llvm::Error::success();
}

template <class T> llvm::Error maxQuantized(KernelContext &ctx) {
  Pool p(ctx);
  auto [low, high] = quantizedActivationRange<T>(p.options->fused_activation_function(), *p.output);
  forEachWindow<T>(
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
