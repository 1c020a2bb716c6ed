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

/// SEGMENT_SUM: the numbers rise from 0 without a gap, and there are as many segments as the last one says.
template <class T> llvm::Error segmentSum(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto ids = ctx.input(1).as<int32_t>();
  for (size_t i = 0; i < ids.size(); ++i)
    if (int32_t last = i ? ids[i - 1] : -1; ids[i] != last + 1 && (i == 0 || ids[i] != last))
      return ctx.fail(1, "segment " + llvm::Twine(ids[i]) + (i ? " behind " + llvm::Twine(last) : " at first"));
  auto x = in.as<T>();
  auto out = ctx.output().as<T>();
  std::fill(out.begin(), out.end(), T(0));
  int64_t row = ids.empty() ? 0 : static_cast<int64_t>(x.size() / ids.size());
  for (size_t i = 0; i < x.size(); ++i) {
    T &sum = out[ids[i / row] * row + i % row];
    sum = add(sum, x[i]);
  }
  return llvm::Error::success();
}

/// UNSORTED_SEGMENT_*: numbers for the first dimensions, in any order; negative ones belong to no segment.
template <class T> llvm::Error unsortedSegment(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &output = ctx.output();
  auto ids = ctx.input(1).as<int32_t>();
  for (int32_t id : ids)
    if (id >= output.dim(0))
      return ctx.fail(1, "segment " + llvm::Twine(id) + " of " + llvm::Twine(output.dim(0)));
  auto x = in.as<T>();
  auto out = output.as<T>();
  auto fold = [&](T start, auto f) {
    std::fill(out.begin(), out.end(), start);
    int64_t row = ids.empty() ? 0 : static_cast<int64_t>(x.size() / ids.size());
    for (size_t i = 0; i < x.size(); ++i)
      if (int32_t id = ids[i / row]; id >= 0) {
        T &result = out[id * row + i % row];
        result = f(result, x[i]);
      }
    return llvm::Error::success();
  };
  using Limits = std::numeric_limits<T>;
  switch (ctx.op.code) {
  case BuiltinOperator::UNSORTED_SEGMENT_PROD:
    return fold(1, multiply<T>);
  case BuiltinOperator::UNSORTED_SEGMENT_MAX:
    return fold(Limits::lowest(), [](T a, T b) { return std::max(a, b); });
  case BuiltinOperator::UNSORTED_SEGMENT_MIN:
    return fold(Limits::max(), [](T a, T b) { return std::min(a, b); });
  default:
    return fold(0, add<T>);
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
