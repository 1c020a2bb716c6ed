#pragma once

#include "eval/Kernels.h"

/// Rows that are put together by the number of their segment, of any kind of number.
namespace origo::eval::loops {

/// SEGMENT_SUM: the numbers rise from 0 without a gap, and there are as many segments as the last one says.
template <class T, class Add> llvm::Error addSegments(KernelContext &ctx, const T &zero, Add add) {
  auto ids = ctx.input(1).as<int32_t>();
  for (size_t i = 0; i < ids.size(); ++i)
    if (int32_t last = i ? ids[i - 1] : -1; ids[i] != last + 1 && (i == 0 || ids[i] != last))
      return ctx.fail(1, "segment " + llvm::Twine(ids[i]) + (i ? " behind " + llvm::Twine(last) : " at first"));
  auto x = ctx.input(0).as<T>();
  auto out = ctx.output().as<T>();
  std::fill(out.begin(), out.end(), zero);
  int64_t row = ids.empty() ? 0 : static_cast<int64_t>(x.size() / ids.size());
  for (size_t i = 0; i < x.size(); ++i) {
    T &sum = out[ids[i / row] * row + i % row];
    sum = add(sum, x[i]);
  }
  return llvm::Error::success();
}

/// UNSORTED_SEGMENT_*: numbers for the first dimensions, in any order; negative ones belong to no segment.
template <class T, class F> llvm::Error foldSegments(KernelContext &ctx, const T &start, F f) {
  Tensor &output = ctx.output();
  auto ids = ctx.input(1).as<int32_t>();
  for (int32_t id : ids)
    if (id >= output.dim(0))
      return ctx.fail(1, "segment " + llvm::Twine(id) + " of " + llvm::Twine(output.dim(0)));
  auto x = ctx.input(0).as<T>();
  auto out = output.as<T>();
  std::fill(out.begin(), out.end(), start);
  int64_t row = ids.empty() ? 0 : static_cast<int64_t>(x.size() / ids.size());
  for (size_t i = 0; i < x.size(); ++i)
    if (int32_t id = ids[i / row]; id >= 0) {
      T &result = out[id * row + i % row];
      result = f(result, x[i]);
    }
  return llvm::Error::success();
}

} // namespace origo::eval::loops
