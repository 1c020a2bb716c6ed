#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

/// How reductions go through their operand, whatever its numbers are.
namespace origo::eval::loops {

/// Which elements of the input belong to which element of the output.
struct Reduction {
  KernelContext *ctx;
  Tensor *output;
  llvm::SmallVector<int64_t, 6> steps; ///< in the output, for a step along each dimension of the input; 0: reduced
  int64_t count = 1;                   ///< elements that each output is made of

  explicit Reduction(KernelContext &ctx) : ctx(&ctx), output(&ctx.output()) {
    const Tensor &in = ctx.input(0);
    llvm::SmallVector<bool, 6> reduced(in.rank(), false);
    auto axes = *ctx.values(1);
    if (in.rank()) // any axis of a scalar will do
      for (int64_t given : axes)
        reduced[ctx.axis(given, in.rank())] = true;
    Shape kept;
    for (int d = 0; d < in.rank(); ++d) {
      kept.push_back(reduced[d] ? 1 : in.dim(d));
      if (reduced[d])
        count *= in.dim(d);
    }
    steps = stridesOf(kept);
    for (int d = 0; d < in.rank(); ++d)
      if (reduced[d])
        steps[d] = 0;
  }

  /// f(element of the output, element of the input), for the input's elements in order.
  template <class F> void forEach(const Tensor &in, F f) const {
    Shape position(in.rank(), 0);
    int64_t to = 0;
    for (int64_t i = 0, count = in.count(); i < count && !ctx->late(); ++i) {
      f(to, i);
      for (int d = in.rank(); d-- > 0;) {
        to += steps[d];
        if (++position[d] < in.dim(d))
          break;
        to -= steps[d] * in.dim(d);
        position[d] = 0;
      }
    }
  }

  /// All elements folded with f, beginning from `start`.
  template <class Sum, class T, class F> std::vector<Sum> fold(const Tensor &in, Sum start, F f) const {
    std::vector<Sum> sums(static_cast<size_t>(output->count()), start);
    auto x = in.as<T>();
    forEach(in, [&](int64_t to, int64_t from) { sums[to] = f(sums[to], x[from]); });
    return sums;
  }
};

} // namespace origo::eval::loops
