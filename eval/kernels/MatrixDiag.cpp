#include "eval/Kernels.h"
#include "eval/kernels/Move.h"

/// Matrices, the last two dimensions, and their diagonals.
namespace origo::eval {

namespace {

/// Writes diagonals into matrices of this shape.
void writeDiagonals(Tensor &output, const Tensor &diagonals) {
  int64_t height = output.dim(output.rank() - 2), width = output.dim(output.rank() - 1);
  int64_t length = std::min(height, width), size = elementSize(output);
  uint8_t *to = output.storage.data();
  const uint8_t *from = diagonals.bytes().data();
  int64_t count = diagonals.count();
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + (i / length * height * width + i % length * (width + 1)) * size, from + i * size, size);
}

llvm::Error matrixDiag(KernelContext &ctx) {
  std::fill(ctx.output().storage.begin(), ctx.output().storage.end(), 0);
  writeDiagonals(ctx.output(), ctx.input(0));
  return llvm::Error::success();
}

llvm::Error matrixSetDiag(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &diagonals = ctx.input(1);
  Shape shape(in.shape.begin(), in.shape.end() - 1);
  shape.back() = std::min(shape.back(), in.shape.back());
  if (diagonals.shape != shape)
    return ctx.fail(1, "does not have the shape of the diagonals");
  llvm::copy(in.bytes(), ctx.output().storage.begin());
  writeDiagonals(ctx.output(), diagonals);
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> matrixDiagKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::MATRIX_DIAG, "any[..,d] -> same[..,d,d]", matrixDiag},
      {Op::MATRIX_SET_DIAG, "any[..,h,w], same -> same[..,h,w]", matrixSetDiag},
  };
  return rows;
}

} // namespace origo::eval
