#include "eval/kernels/Segment.h"
#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"

/// Rows that are put together by the number of their segment, and running sums.
namespace origo::eval {

namespace {

template <class T> T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return wrappingAdd(a, b);
}
template <class T> T multiply(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return wrappingMul(a, b);
}

template <class T> llvm::Error segmentSum(KernelContext &ctx) { return loops::addSegments<T>(ctx, T(0), add<T>); }

template <class T> llvm::Error unsortedSegment(KernelContext &ctx) {
  using Limits = std::numeric_limits<T>;
  switch (ctx.op.code) {
  case BuiltinOperator::UNSORTED_SEGMENT_PROD:
    return loops::foldSegments<T>(ctx, 1, multiply<T>);
  case BuiltinOperator::UNSORTED_SEGMENT_MAX:
    return loops::foldSegments<T>(ctx, Limits::lowest(), [](T a, T b) { return std::max(a, b); });
  case BuiltinOperator::UNSORTED_SEGMENT_MIN:
    return loops::foldSegments<T>(ctx, Limits::max(), [](T a, T b) { return std::min(a, b); });
  default:
    return loops::foldSegments<T>(ctx, 0, add<T>);
  }
}

/// CUMSUM: each element is the sum of those up to it along the axis, with or without itself, from either end.
template <class T> llvm::Error runningSum(KernelContext &ctx) {
  const auto &options = ctx.options<circle::CumsumOptions>();
  const Tensor &in = ctx.input(0);
  int axis = ctx.axis(*ctx.value(1), in.rank());
  Tensor &output = ctx.output();
  auto x = in.as<T>();
  auto out = output.as<T>();
  if (x.empty())
    return llvm::Error::success();
  int64_t length = in.dim(axis), inner = product(in.shape, axis + 1, in.rank());
  int64_t rows = static_cast<int64_t>(x.size()) / length;
  for (int64_t row = 0; row < rows; ++row) {
    T sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      int64_t at = row / inner * length * inner + (options.reverse() ? length - 1 - i : i) * inner + row % inner;
      T before = sum;
      sum = add(sum, x[at]);
      out[at] = options.exclusive() ? before : sum;
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> segmentKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::CUMSUM, "f32, i32 -> f32", runningSum<float>},
      {Op::CUMSUM, "i32, i32 -> i32", runningSum<int32_t>},
      {Op::CUMSUM, "i64, i32 -> i64", runningSum<int64_t>},
      {Op::SEGMENT_SUM, "f32, i32 -> f32", segmentSum<float>},
      {Op::SEGMENT_SUM, "i32, i32 -> i32", segmentSum<int32_t>},
      {Op::UNSORTED_SEGMENT_MAX, "f32, i32, i32 -> f32", unsortedSegment<float>},
      {Op::UNSORTED_SEGMENT_MAX, "i32, i32, i32 -> i32", unsortedSegment<int32_t>},
      {Op::UNSORTED_SEGMENT_MIN, "f32, i32, i32 -> f32", unsortedSegment<float>},
      {Op::UNSORTED_SEGMENT_MIN, "i32, i32, i32 -> i32", unsortedSegment<int32_t>},
      {Op::UNSORTED_SEGMENT_PROD, "f32, i32, i32 -> f32", unsortedSegment<float>},
      {Op::UNSORTED_SEGMENT_PROD, "i32, i32, i32 -> i32", unsortedSegment<int32_t>},
      {Op::UNSORTED_SEGMENT_SUM, "f32, i32, i32 -> f32", unsortedSegment<float>},
      {Op::UNSORTED_SEGMENT_SUM, "i32, i32, i32 -> i32", unsortedSegment<int32_t>},
  };
  return rows;
}

} // namespace origo::eval
