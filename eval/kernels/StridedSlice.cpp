#include "eval/Kernels.h"
#include "eval/kernels/Views.h"
#include "ir/shapes/Rules.h"

/// STRIDED_SLICE: Python's x[a:b:c, …, newaxis, 3].
namespace origo::eval {

namespace {

bool bit(int32_t mask, size_t i) { return i < 32 && (static_cast<uint32_t>(mask) >> i & 1); }

} // namespace

Views viewStridedSlice(const KernelContext &ctx) {
  const auto &options = ctx.options<circle::StridedSliceOptions>();
  const Tensor &in = ctx.input(0);
  auto begin = *ctx.values(1), end = *ctx.values(2), strides = *ctx.values(3);
  size_t named = 0;
  for (size_t i = 0; i < begin.size(); ++i)
    named += !bit(options.ellipsis_mask() | options.new_axis_mask(), i);

  View view;
  auto inner = stridesOf(in.shape);
  size_t d = 0;
  auto takeWhole = [&](size_t count) {
    for (; count-- > 0; ++d)
      view.add(in.shape[d], inner[d]);
  };
  for (size_t i = 0; i < begin.size(); ++i) {
    if (bit(options.ellipsis_mask(), i)) {
      takeWhole(in.shape.size() - named);
      continue;
    }
    if (bit(options.new_axis_mask(), i))
      continue;
    auto picked = inference::pickedRange(in.shape[d], begin[i], end[i], strides[i], bit(options.begin_mask(), i),
                                         bit(options.end_mask(), i), options.offset());
    view.offset += picked.first * inner[d];
    if (!bit(options.shrink_axis_mask(), i))
      view.add(picked.count, picked.count > 1 ? strides[i] * inner[d] : 0);
    ++d;
  }
  takeWhole(in.shape.size() - d);
  return {std::move(view)};
}

llvm::ArrayRef<KernelRow> stridedSliceKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::STRIDED_SLICE, "any, i32[n], i32[n], i32[n] -> same", viewStridedSlice},
  };
  return rows;
}

} // namespace origo::eval
