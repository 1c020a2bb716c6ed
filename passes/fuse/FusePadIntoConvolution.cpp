#include "passes/Rule.h"

#include <cmath>
#include <limits>

namespace origo {

/// Why SAME would not pad x, a picture, by just these widths for a window of this reach, height and width.
static const char *sameRefusal(Tensor x, const Integers &sides, llvm::ArrayRef<int64_t> reach, Node at) {
  if (at.option("padding") != static_cast<int64_t>(circle::Padding::VALID))
    return "the window is padded, too";
  for (int axis : {0, 1, 2, 3}) {
    int64_t before = 0, after = 0;
    if (axis == 1 || axis == 2) {
      int64_t stride = at.option(axis == 1 ? "stride_h" : "stride_w"), size = x.statedShape()[axis];
      if (stride < 1 || size < 1)
        return "the stride is not positive, or the size is not known before run time";
      int64_t all = std::max<int64_t>((size + stride - 1) / stride * stride - stride + reach[axis - 1] - size, 0);
      before = all / 2, after = all - before;
    }
    if (!sides.is(2 * axis, before) || !sides.is(2 * axis + 1, after))
      return "SAME would pad otherwise";
  }
  return nullptr;
}

/// conv(pad(x), W, b, VALID) → conv(x, W, b, SAME) where SAME adds the same zeros on each side.
static Rule same() {
  auto x = any(), widths = constant();
  auto padded = op(Op::PAD, {x, widths}); // others that use it are no worse off
  auto linear = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {padded}).mayActivate();
  return {"same", "not a convolution of what is padded with zeros", linear, [=](Match &m) {
            Node at = m.op(linear);
            Tensor filter = at.operand("filter");
            std::optional<Integers> sides = m.integers(m[widths]);
            if (!sides || sides->size() != 8 || m[x].rank() != 4 || filter.rank() != 4 || !m[padded].hasTypeOf(m[x]) ||
                !m[x].isPerTensor() || !m[padded].hasQuantizationOf(m[x]) || m[x].isFloat() != filter.isFloat())
              return decline("the input is quantised in the operator, or otherwise than what is padded");
            if (filter.isFloat() &&
                !(filter.isDenseConstant() && m.every(filter, [](double n) { return std::isfinite(n); })))
              return decline("the filter is computed, or not finite: zero times infinity is not zero");
            auto reach = [&](int axis, llvm::StringRef dilation) {
              return (filter.shape()[axis] - 1) * at.option(dilation) + 1;
            };
            if (const char *why =
                    sameRefusal(m[x], *sides, {reach(1, "dilation_h_factor"), reach(2, "dilation_w_factor")}, at))
              return decline(why);
            return m.replace(clone(linear).operand(0, x).with("padding", static_cast<int64_t>(circle::Padding::SAME)));
          }};
}

/// max_pool(pad(x), VALID) → max_pool(x, SAME), where what is padded is below all that there is, or zeros behind a RELU
static Rule pooled() {
  auto x = any(), widths = constant(), number = constant();
  auto zeros = op(Op::PAD, {x, widths}), lowest = op(Op::PADV2, {x, widths, number});
  auto pool = op(Op::MAX_POOL_2D, {zeros | lowest}).mayActivate();
  return {
      "pooled", "not the maxima of what is padded", pool, [=](Match &m) {
        std::optional<Integers> sides = m.integers(m[widths]);
        if (!sides || sides->size() != 8 || m[x].rank() != 4 || !m[x].isFloat())
          return decline("not float");
        if (m.has(zeros) ? !(m.range(m[x]).low >= 0)
                         : !m.every(m[number], [](double n) { return n <= std::numeric_limits<float>::lowest(); }))
          return decline("what is padded may be the greatest");
        Node at = m.op(pool);
        if (const char *why = sameRefusal(m[x], *sides, {at.option("filter_height"), at.option("filter_width")}, at))
          return decline(why);
        return m.replace(clone(pool).operand(0, x).with("padding", static_cast<int64_t>(circle::Padding::SAME)));
      }};
}

Pass FusePadIntoConvolution() {
  return {"fuse-pad-into-convolution",
          "conv(pad(x), W, b, VALID) -> conv(x, W, b, SAME) where that pads the same, and max_pool likewise",
          Phase::Fuse,
          true,
          {},
          {same(), pooled()}};
}

} // namespace origo
