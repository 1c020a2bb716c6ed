#pragma once

#include "eval/Kernels.h"
#include "eval/Shapes.h"

namespace origo::eval::loops {

/// The last dimension of `indices` names a place along the first dimensions of `target`; a slice is what lies there.
struct Places {
  int64_t count = 0, depth = 0, slice = 1;
  llvm::SmallVector<int64_t, 6> strides; ///< in slices
  llvm::SmallVector<int64_t, 8> indices;
  Shape target;

  Places(const KernelContext &ctx, unsigned operand, llvm::ArrayRef<int32_t> target)
      : target(target.begin(), target.end()) {
    const Tensor &tensor = ctx.input(operand);
    depth = tensor.shape.back();
    count = product(tensor.shape, 0, tensor.shape.size() - 1);
    strides = stridesOf(target.take_front(depth));
    slice = product(target, depth, target.size());
  }
  /// Reads the indices, and refuses those that are out of range.
  llvm::Error read(KernelContext &ctx, unsigned operand) {
    indices = *ctx.values(operand);
    for (size_t i = 0; i < indices.size(); ++i)
      if (int32_t dim = target[i % depth]; indices[i] < 0 || indices[i] >= dim)
        return ctx.fail(operand, "index " + llvm::Twine(indices[i]) + " of " + llvm::Twine(dim) + " elements");
    return llvm::Error::success();
  }
  int64_t operator[](int64_t i) const {
    int64_t at = 0;
    for (int64_t d = 0; d < depth; ++d)
      at += indices[i * depth + d] * strides[d];
    return at;
  }
};

/// SCATTER_ND: `add(element, update)` puts together what meets at one place, of elements that begin as T().
template <class T, class Add> llvm::Error scatter(KernelContext &ctx, Add add) {
  Tensor &output = ctx.output();
  Places places(ctx, 0, output.shape);
  if (llvm::Error error = places.read(ctx, 0))
    return error;
  auto out = output.as<T>();
  auto x = ctx.input(1).as<T>();
  std::fill(out.begin(), out.end(), T());
  if (out.empty())
    return x.empty() ? llvm::Error::success() : ctx.fail(0, "the result has no elements");
  for (int64_t i = 0; i < places.count && !x.empty(); ++i)
    for (int64_t j = 0; j < places.slice; ++j)
      add(out[places[i] * places.slice + j], x[i * places.slice + j]);
  return llvm::Error::success();
}

} // namespace origo::eval::loops
