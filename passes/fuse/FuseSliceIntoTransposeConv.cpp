#include "passes/Linear.h"

namespace origo {

/// The padding in front that a TransposeConv to `size` has, as the runtimes compute it; none: `in` does not lead there.
static std::optional<int64_t> paddingBefore(int64_t in, int64_t size, int64_t filter, int64_t stride, bool same) {
  if (stride <= 0)
    return std::nullopt;
  int64_t expected = same ? (size + stride - 1) / stride : (size - filter + stride) / stride;
  if (size <= 0 || expected != in)
    return std::nullopt;
  return std::max<int64_t>(0, (in - 1) * stride + filter - size) / 2;
}

/// slice(transpose_conv(x, W), begin, size) → transpose_conv(x, W) to that size, whose padding leaves out the rest.
static Rule slice() {
  auto shape = any(), begin = constant(), size = any();
  auto linear = anyOf({Op::TRANSPOSE_CONV}, {shape}).once();
  auto sliced = op(Op::SLICE, {linear, begin, size});
  return {"slice", "what is sliced is not a TransposeConv with this use only", sliced, [=](Match &m) {
            Linear parts;
            Node at = m.op(linear);
            if (const char *why = readLinear(at, parts))
              return decline(why);
            std::optional<Integers> from = m.integers(m[begin]);
            Tensor x = at.operand(2), result = m[sliced];
            auto isPicture = [](Tensor tensor) { return tensor.isStatic() && tensor.rank() == 4; };
            if (!from || from->size() != 4 || !isPicture(result) || !isPicture(x) || !isPicture(m[linear]) ||
                parts.filter.rank() != 4)
              return decline("begin or size are not known before run time");
            if (!from->is(0, 0) || !from->is(3, 0) || result.shape()[0] != m[linear].shape()[0] ||
                result.shape()[3] != m[linear].shape()[3])
              return decline("pictures or channels are cut");
            for (auto padding : {circle::Padding::VALID, circle::Padding::SAME}) {
              bool fits = true;
              for (int axis : {1, 2}) {
                int64_t stride = at.option(axis == 1 ? "stride_h" : "stride_w");
                int64_t filter = parts.filter.shape()[axis], in = x.shape()[axis];
                bool wasSame = at.option("padding") == static_cast<int64_t>(circle::Padding::SAME);
                auto before = paddingBefore(in, m[linear].shape()[axis], filter, stride, wasSame);
                auto after = paddingBefore(in, result.shape()[axis], filter, stride, padding == circle::Padding::SAME);
                fits &= before && after && from->is(axis, *after - *before);
              }
              if (fits)
                return m.replace(
                    clone(linear).operand(0, shapeOf(result)).with("padding", static_cast<int64_t>(padding)));
            }
            return decline("no padding leaves out just that");
          }};
}

Pass FuseSliceIntoTransposeConv() {
  return {"fuse-slice-into-transpose-conv",
          "slice(transpose_conv(x, W)) -> transpose_conv(x, W) with the padding that leaves out the rest",
          Phase::Fuse,
          true,
          {{"fuse_slice_with_tconv", {}}},
          {slice()}};
}

} // namespace origo
