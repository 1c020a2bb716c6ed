#include "eval/Kernels.h"
#include "eval/kernels/Views.h"

/// Dimensions, or the beginnings of them, backwards.
namespace origo::eval {

namespace {

/// Of each batch the first lengths[batch] elements along the sequence's dimension are turned around.
llvm::Error reverseSequence(KernelContext &ctx) {
  const auto &options = ctx.options<circle::ReverseSequenceOptions>();
  const Tensor &in = ctx.input(0);
  int along = ctx.axis(options.seq_dim(), in.rank()), batch = ctx.axis(options.batch_dim(), in.rank());
  auto lengths = *ctx.values(1);
  for (int64_t length : lengths)
    if (length < 0 || length > in.dim(along))
      return ctx.fail(1, "a length is out of range", std::to_string(in.dim(along)), std::to_string(length));
  if (in.bytes().empty())
    return llvm::Error::success();
  auto strides = stridesOf(in.shape);
  int inner = std::max(along, batch);
  int64_t size = strides[inner] * elementSize(in), pieces = product(in.shape, 0, inner + 1);
  const uint8_t *from = in.bytes().data();
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t step = strides[along] / strides[inner], position = piece / step % in.dim(along);
    int64_t length = lengths[piece / (strides[batch] / strides[inner]) % in.dim(batch)];
    int64_t source = position < length ? piece + (length - 1 - 2 * position) * step : piece;
    std::memcpy(ctx.output().storage.data() + piece * size, from + source * size, size);
  }
  return llvm::Error::success();
}

} // namespace

Views viewReversed(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto steps = stridesOf(in.shape);
  auto axes = *ctx.values(1);
  View view;
  for (int64_t given : axes) {
    int axis = ctx.axis(given, in.rank());
    if (in.dim(axis) < 2)
      continue;
    view.offset += steps[axis] * (in.dim(axis) - 1);
    steps[axis] = -steps[axis];
  }
  for (int d = 0; d < in.rank(); ++d)
    view.add(in.dim(d), steps[d]);
  return {std::move(view)};
}

llvm::ArrayRef<KernelRow> reverseKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::REVERSE_V2, "any, i32 -> same", viewReversed},
      {Op::REVERSE_SEQUENCE, "any, i32|i64 -> same", reverseSequence},
  };
  return rows;
}

} // namespace origo::eval
