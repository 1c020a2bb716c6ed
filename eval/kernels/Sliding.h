#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

namespace origo::eval::loops {

/// REDUCE_WINDOW: f(f(first, x), x) of the elements in each window.
template <class T, class F> llvm::Error slideAndReduce(KernelContext &ctx, F f) {
  const Tensor &in = ctx.input(0);
  auto window = *ctx.values(2), strides = *ctx.values(3), dilations = *ctx.values(4);
  if (ctx.input(1).count() != 1)
    return ctx.fail(1, "is not a single element");
  Tensor &output = ctx.output();
  const Shape &shape = output.shape;
  Shape extents;
  int64_t inWindow = 1;
  auto steps = stridesOf(in.shape);
  llvm::SmallVector<int64_t, 6> outer, inner;
  for (size_t d = 0; d < in.shape.size(); ++d) {
    extents.push_back(static_cast<int32_t>(window[d]));
    inWindow *= window[d]; // not more than the input has
    outer.push_back(steps[d] * strides[d]);
    inner.push_back(steps[d] * dilations[d]);
  }
  auto x = in.as<T>();
  T first = ctx.input(1).as<T>()[0];
  // Goes through positions in order; `index` follows with these steps.
  auto advance = [](llvm::MutableArrayRef<int32_t> position, llvm::ArrayRef<int32_t> bounds, llvm::ArrayRef<int64_t> by,
                    int64_t &index) {
    for (size_t d = bounds.size(); d-- > 0;) {
      index += by[d];
      if (++position[d] < bounds[d])
        return;
      index -= by[d] * bounds[d];
      position[d] = 0;
    }
  };
  llvm::SmallVector<int32_t, 6> place(shape.size(), 0), within(shape.size(), 0);
  int64_t begin = 0;
  for (T &result : output.as<T>()) {
    result = first;
    int64_t at = begin;
    for (int64_t k = 0; k < inWindow; ++k) {
      result = f(result, x[at]);
      advance(within, extents, inner, at);
    }
    advance(place, shape, outer, begin);
  }
  return llvm::Error::success();
}

} // namespace origo::eval::loops
