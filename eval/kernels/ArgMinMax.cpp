#include "eval/Kernels.h"
#include "eval/Shapes.h"

#include <numeric>

/// Where the largest and the smallest elements are.
namespace origo::eval {

namespace {

/// The first of the best along an axis, which the output does not have any more. NaN is passed over.
template <class T, class Index, class Better> llvm::Error argBest(KernelContext &ctx, Better better) {
  const Tensor &in = ctx.input(0);
  int axis = ctx.axis(*ctx.value(1), in.rank());
  int64_t length = in.dim(axis), inner = product(in.shape, axis + 1, in.rank());
  auto x = in.as<T>();
  auto out = ctx.output().as<Index>();
  if (length == 0 && !out.empty())
    return ctx.fail(0, "has no elements along the axis");
  for (size_t i = 0; i < out.size(); ++i) {
    const T *row = x.data() + static_cast<int64_t>(i) / inner * length * inner + static_cast<int64_t>(i) % inner;
    int64_t best = 0;
    for (int64_t j = 1; j < length; ++j) {
      T element = row[j * inner], most = row[best * inner];
      if (better(element, most) || (element == element && most != most))
        best = j;
    }
    out[i] = static_cast<Index>(best);
  }
  return llvm::Error::success();
}

template <class T> llvm::Error argMinMax(KernelContext &ctx) {
  bool max = ctx.op.code == BuiltinOperator::ARG_MAX;
  auto better = [max](T a, T b) { return max ? a > b : a < b; };
  return ctx.outputType() == TensorType::INT64 ? argBest<T, int64_t>(ctx, better) : argBest<T, int32_t>(ctx, better);
}

/// The k largest of each row, the largest first; among equal ones the first. None for a negative k.
template <class T, class Index> llvm::Error largestAs(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  int64_t k = std::max<int64_t>(*ctx.value(1), 0), length = in.dim(in.rank() - 1);
  if (length > std::numeric_limits<Index>::max())
    return ctx.fail(0, "has more elements in a row than an index of its type can say");
  Tensor *results[2] = {ctx.outputs[0], ctx.numOutputs() > 1 ? ctx.outputs[1] : nullptr};
  auto x = in.as<T>();
  int64_t rows = k == 0 ? 0 : static_cast<int64_t>(x.size()) / length;
  std::vector<Index> order(rows ? static_cast<size_t>(length) : 0);
  for (int64_t row = 0; row < rows; ++row) {
    const T *from = x.data() + row * length;
    std::iota(order.begin(), order.end(), Index(0));
    // What is not a number comes last: the order must be one.
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [from](Index a, Index b) {
      bool aIsNumber = from[a] == from[a], bIsNumber = from[b] == from[b];
      if (aIsNumber != bIsNumber)
        return aIsNumber;
      return aIsNumber && from[a] != from[b] ? from[a] > from[b] : a < b;
    });
    for (int64_t i = 0; i < k; ++i) {
      if (results[0])
        results[0]->as<T>()[row * k + i] = from[order[i]];
      if (results[1])
        results[1]->as<Index>()[row * k + i] = order[i];
    }
  }
  return llvm::Error::success();
}

template <class T> llvm::Error largest(KernelContext &ctx) {
  bool narrow = ctx.numOutputs() > 1 && ctx.outputType(1) == TensorType::INT16;
  return narrow ? largestAs<T, int16_t>(ctx) : largestAs<T, int32_t>(ctx);
}

} // namespace

llvm::ArrayRef<KernelRow> argMinMaxKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::ARG_MAX, "f32[..,_], i32|i64 -> i32|i64", argMinMax<float>},
      {Op::ARG_MAX, "i8{n|t}[..,_], i32|i64 -> i32|i64", argMinMax<int8_t>},
      {Op::ARG_MAX, "u8|bool[..,_], i32|i64 -> i32|i64", argMinMax<uint8_t>},
      {Op::ARG_MAX, "i16{n|t}[..,_], i32|i64 -> i32|i64", argMinMax<int16_t>},
      {Op::ARG_MAX, "i32[..,_], i32|i64 -> i32|i64", argMinMax<int32_t>},
      {Op::ARG_MIN, "f32[..,_], i32|i64 -> i32|i64", argMinMax<float>},
      {Op::ARG_MIN, "i8{n|t}[..,_], i32|i64 -> i32|i64", argMinMax<int8_t>},
      {Op::ARG_MIN, "u8|bool[..,_], i32|i64 -> i32|i64", argMinMax<uint8_t>},
      {Op::ARG_MIN, "i16{n|t}[..,_], i32|i64 -> i32|i64", argMinMax<int16_t>},
      {Op::ARG_MIN, "i32[..,_], i32|i64 -> i32|i64", argMinMax<int32_t>},
      {Op::TOPK_V2, "f32[..,_], i32|i16 -> f32, i32|i16", largest<float>},
      {Op::TOPK_V2, "i8{n|t}[..,_], i32|i16 -> i8{n|t}, i32|i16", largest<int8_t>},
      {Op::TOPK_V2, "u8{n|t}[..,_], i32|i16 -> u8{n|t}, i32|i16", largest<uint8_t>},
      {Op::TOPK_V2, "i16{n|t}[..,_], i32|i16 -> i16{n|t}, i32|i16", largest<int16_t>},
      {Op::TOPK_V2, "i32[..,_], i32|i16 -> i32, i32|i16", largest<int32_t>},
      {Op::TOPK_V2, "i64[..,_], i32|i16 -> i64, i32|i16", largest<int64_t>},
  };
  return rows;
}

} // namespace origo::eval
