#pragma once

#include "eval/Kernel.h"
#include "eval/kernels/Move.h"

/// Operators whose result is a view on their operand: its elements, at steps.
namespace origo::eval {

struct View {
  unsigned operand = 0; ///< whose elements they are
  int64_t offset = 0;
  llvm::SmallVector<int32_t, 10> walk;  ///< the result's dimensions, some perhaps taken apart
  llvm::SmallVector<int64_t, 10> steps; ///< elements of the operand that a step along each of them is

  /// The next dimension inwards.
  void add(int64_t count, int64_t step) {
    walk.push_back(static_cast<int32_t>(count));
    steps.push_back(step);
  }
};

/// Of each result.
using Views = llvm::SmallVector<View, 1>;

Views viewTransposed(const KernelContext &ctx);
Views viewSlice(const KernelContext &ctx);
Views viewStridedSlice(const KernelContext &ctx);
Views viewTiled(const KernelContext &ctx);
Views viewBroadcast(const KernelContext &ctx);
Views viewReversed(const KernelContext &ctx);
Views viewSpaceToDepth(const KernelContext &ctx);
Views viewDepthToSpace(const KernelContext &ctx);

} // namespace origo::eval
