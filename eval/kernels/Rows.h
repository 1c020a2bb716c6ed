#pragma once

#include "eval/Kernels.h"

namespace origo::eval {

/// An operand and a result of the same shape, row by row along the last axis.
struct Rows {
  const Tensor *in;
  Tensor *out;
  int64_t depth, count;

  static Rows of(KernelContext &ctx) {
    const Tensor &in = ctx.input(0);
    int64_t depth = in.shape.back();
    return {&in, &ctx.output(), depth, depth ? in.count() / depth : 0};
  }
};

} // namespace origo::eval
