#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// conv(pad(x), W, b, VALID) → conv(x, W, b, SAME) where SAME adds the same zeros on each side.
static Rule same() {
  auto x = any(), widths = constant();
  auto padded = op(Op::PAD, {x, widths}); // others that use it are no worse off
  auto linear = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {padded}).mayActivate();
  return {"same", "not a convolution of what is padded with zeros", linear, [=](Match &m) {
            Node at = m.op(linear);
            Tensor filter = at.operand("filter");
            std::optional<Integers> sides = m.integers(m[widths]);
            if (!sides || sides->size() != 8 || m[x].rank() != 4 || !m[x].isStatic() || filter.rank() != 4)
              return decline("the widths or the shapes are not known before run time");
            if (at.option("padding") != static_cast<int64_t>(circle::Padding::VALID))
              return decline("the convolution pads, too");
            if (!m[padded].hasTypeOf(m[x]) || !m[x].isPerTensor() || !m[padded].hasQuantizationOf(m[x]) ||
                m[x].isFloat() != filter.isFloat())
              return decline("the input is quantised in the operator, or otherwise than what is padded");
            if (filter.isFloat() &&
                !(filter.isDenseConstant() && m.every(filter, [](double n) { return std::isfinite(n); })))
              return decline("the filter is computed, or not finite: zero times infinity is not zero");
            for (int axis : {0, 1, 2, 3}) {
              int64_t before = 0, after = 0;
              if (axis == 1 || axis == 2) {
                int64_t stride = at.option(axis == 1 ? "stride_h" : "stride_w"), size = m[x].shape()[axis];
                int64_t dilation = at.option(axis == 1 ? "dilation_h_factor" : "dilation_w_factor");
                int64_t reach = (filter.shape()[axis] - 1) * dilation + 1;
                if (stride < 1)
                  return decline("the stride is not positive");
                int64_t all = std::max<int64_t>((size + stride - 1) / stride * stride - stride + reach - size, 0);
                before = all / 2, after = all - before;
              }
              if (sides->at(2 * axis) != before || sides->at(2 * axis + 1) != after)
                return decline("SAME would pad otherwise");
            }
            return m.replace(clone(linear).operand(0, x).with("padding", static_cast<int64_t>(circle::Padding::SAME)));
          }};
}

Pass FusePadIntoConvolution() {
  return {"fuse-pad-into-convolution",
          "conv(pad(x), W, b, VALID) -> conv(x, W, b, SAME) where that pads the same",
          Phase::Fuse,
          true,
          {},
          {same()}};
}

} // namespace origo
