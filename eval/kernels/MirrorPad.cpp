#include "eval/Kernels.h"
#include "eval/kernels/Move.h"

/// MIRROR_PAD: the input continued beyond its borders by its mirror image.
namespace origo::eval {

namespace {

llvm::Error mirrorPad(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto amounts = *ctx.values(1);
  // REFLECT does not repeat the element at the border.
  int64_t border = ctx.options<circle::MirrorPadOptions>().mode() == circle::MirrorPadMode::REFLECT ? 1 : 0;
  Tensor &output = ctx.output();
  // Which element of the input belongs to a position along each dimension, times the step there.
  auto strides = stridesOf(in.shape);
  llvm::SmallVector<llvm::SmallVector<int64_t, 0>, 6> offsets(in.rank());
  int64_t count = output.count();
  for (int d = 0; d < in.rank() && count; ++d)
    for (int64_t i = -amounts[2 * d], length = in.dim(d); i < length + amounts[2 * d + 1]; ++i) {
      int64_t source = i < 0 ? border - 1 - i : i >= length ? 2 * length - 1 - border - i : i;
      offsets[d].push_back(source * strides[d]);
    }
  int64_t size = elementSize(in);
  const uint8_t *from = in.bytes().data();
  uint8_t *to = output.storage.data();
  Shape position(in.rank(), 0);
  for (int64_t i = 0; i < count; ++i, to += size) {
    int64_t at = 0;
    for (int d = 0; d < in.rank(); ++d)
      at += offsets[d][position[d]];
    std::memcpy(to, from + at * size, size);
    for (int d = in.rank(); d-- > 0;) {
      if (++position[d] < output.dim(d))
        break;
      position[d] = 0;
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> mirrorPadKernels() {
  static const KernelRow rows[] = {
      {BuiltinOperator::MIRROR_PAD, "any, i32|i64 -> same", mirrorPad},
  };
  return rows;
}

} // namespace origo::eval
