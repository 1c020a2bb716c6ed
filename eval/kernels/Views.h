#pragma once

#include "eval/kernels/Move.h"

/// Operators whose result is a view on their operand: its elements, at steps.
namespace origo::eval {

struct View {
  Shape shape; ///< of the result
  int64_t offset = 0;
  llvm::SmallVector<int32_t, 10> walk;  ///< the result's dimensions, some perhaps taken apart
  llvm::SmallVector<int64_t, 10> steps; ///< elements of the operand that a step along each of them is

  /// The next dimension inwards.
  void add(int64_t count, int64_t step) {
    walk.push_back(static_cast<int32_t>(count));
    steps.push_back(step);
  }
};

using ViewFunction = llvm::Expected<View> (*)(const KernelContext &);

llvm::Expected<View> viewTransposed(const KernelContext &ctx);
llvm::Expected<View> viewSlice(const KernelContext &ctx);
llvm::Expected<View> viewStridedSlice(const KernelContext &ctx);
llvm::Expected<View> viewTiled(const KernelContext &ctx);
llvm::Expected<View> viewBroadcast(const KernelContext &ctx);
llvm::Expected<View> viewReversed(const KernelContext &ctx);
llvm::Expected<View> viewSpaceToDepth(const KernelContext &ctx);
llvm::Expected<View> viewDepthToSpace(const KernelContext &ctx);

/// The kernel of such an operator.
template <ViewFunction viewOf> llvm::Error copyView(KernelContext &ctx) {
  auto view = viewOf(ctx);
  if (!view)
    return view.takeError();
  if (ctx.takesView(0, *view))
    return llvm::Error::success();
  auto output = ctx.output(0, view->shape);
  if (!output)
    return output.takeError();
  const Tensor &in = ctx.input(0);
  copyStrided(in.bytes().data(), view->offset, view->steps, view->walk, elementSize(in), (*output)->storage.data());
  return llvm::Error::success();
}

} // namespace origo::eval
