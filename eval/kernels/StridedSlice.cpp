#include "eval/Kernels.h"
#include "eval/kernels/Views.h"

/// STRIDED_SLICE: Python's x[a:b:c, …, newaxis, 3].
namespace origo::eval {

namespace {

bool bit(int32_t mask, size_t i) { return i < 32 && (static_cast<uint32_t>(mask) >> i & 1); }

/// What a slice takes of one dimension.
struct Range {
  int64_t first = 0, step = 1, count = 0;
};

/// Indices beyond the ends are cut off, as in Python.
Range clippedRange(int64_t begin, int64_t end, int64_t step, bool fromStart, bool toEnd, bool endIsLength,
                   int64_t dim) {
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  auto clip = [&](int64_t index) { return std::max(low, std::min(high, index < 0 ? index + dim : index)); };
  int64_t first = fromStart ? (step > 0 ? low : high) : clip(begin);
  int64_t stop = toEnd ? (step > 0 ? high : low) : clip(endIsLength ? first + end : end);
  int64_t distance = step > 0 ? stop - first : first - stop, width = step > 0 ? step : -step;
  int64_t count = distance > 0 ? (distance + width - 1) / width : 0;
  return {first, count > 1 ? step : 0, count};
}

} // namespace

llvm::Expected<View> viewStridedSlice(const KernelContext &ctx) {
  const auto &options = ctx.options<circle::StridedSliceOptions>();
  const Tensor &in = ctx.input(0);
  auto begin = ctx.integers(1), end = ctx.integers(2), strides = ctx.integers(3);
  if (!begin || !end || !strides)
    return firstError(begin, end, strides);
  size_t entries = begin->size();
  if (end->size() != entries || strides->size() != entries)
    return ctx.fail("begin, end and strides differ in length");
  size_t named = 0, ellipses = 0;
  for (size_t i = 0; i < entries; ++i)
    if (bit(options.ellipsis_mask(), i))
      ++ellipses;
    else if (!bit(options.new_axis_mask(), i))
      ++named;
  if (ellipses > 1 || named > in.shape.size())
    return ctx.fail(1, "names more dimensions than there are", std::to_string(in.rank()), std::to_string(named));

  View view;
  auto inner = stridesOf(in.shape);
  size_t d = 0;
  auto take = [&](Range range) {
    view.shape.push_back(static_cast<int32_t>(range.count));
    view.add(range.count, range.step * inner[d]);
    view.offset += range.first * inner[d++];
  };
  auto takeWhole = [&](size_t count) {
    while (count-- > 0)
      take({0, 1, in.dim(static_cast<int>(d))});
  };
  for (size_t i = 0; i < entries; ++i) {
    if (bit(options.ellipsis_mask(), i)) {
      takeWhole(in.shape.size() - named);
      continue;
    }
    if (bit(options.new_axis_mask(), i)) {
      view.shape.push_back(1);
      continue;
    }
    int64_t dim = in.dim(static_cast<int>(d)), step = (*strides)[i];
    if (step == 0)
      return ctx.fail(3, "a step of zero");
    Range range = clippedRange((*begin)[i], (*end)[i], step, bit(options.begin_mask(), i), bit(options.end_mask(), i),
                               options.offset(), dim);
    if (!bit(options.shrink_axis_mask(), i)) {
      take(range);
      continue;
    }
    if (range.first < 0 || range.first >= dim)
      return ctx.fail(1, "an index into dimension " + llvm::Twine(d) + " is out of range", std::to_string(dim),
                      std::to_string((*begin)[i]));
    view.offset += range.first * inner[d++];
  }
  takeWhole(in.shape.size() - d);
  return view;
}

llvm::ArrayRef<KernelRow> stridedSliceKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::STRIDED_SLICE, "any, i32[n], i32[n], i32[n] -> same", copyView<viewStridedSlice>},
  };
  return rows;
}

} // namespace origo::eval
