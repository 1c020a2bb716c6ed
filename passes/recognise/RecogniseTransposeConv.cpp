#include "passes/Linear.h"
#include "passes/Spelling.h"

#include <array>
#include <cmath>

namespace origo {

/// Does the kernel cut off as much in front and behind as the widths of `axis` leave of the filter but one?
static bool isCutEvenly(const Integers &widths, int axis, int32_t filter, int32_t stride, int32_t in, int32_t out,
                        bool same) {
  int32_t cut = same ? std::max(filter - stride, 0) / 2 : 0;
  return widths.is(2 * axis, filter - 1 - cut) && (same ? out == in * stride : widths.is(2 * axis + 1, filter - 1));
}

/// conv(pad(dilate(x, s)), W) → transpose_conv(x, W turned by half a turn), of stride s
static Rule ofDilated() {
  auto x = any(), factors = constant(), widths = constant();
  auto dilated = op(Op::DILATE, {x, factors, 0.0}), padded = op(Op::PAD, {dilated, widths});
  auto linear = op(Op::CONV_2D, {padded}).mayActivate();
  return {"dilated", "not a convolution of what is dilated with zeros and padded", linear, [=](Match &m) {
            Linear parts;
            Node at = m.op(linear);
            if (const char *why = readLinear(at, parts))
              return decline(why);
            std::optional<Integers> stride = m.integers(m[factors]), sides = m.integers(m[widths]);
            if (!stride || !sides || stride->size() != 4 || sides->size() != 8 || !m[x].isStatic() ||
                !m[linear].isStatic() || !stride->is(0, 1) || !stride->is(3, 1) ||
                !llvm::all_of(std::array{0, 1, 6, 7}, [&](int i) { return sides->is(i, 0); }))
              return decline("not a picture of known shape that is dilated along height and width");
            for (llvm::StringRef option : {"stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor"})
              if (at.option(option) != 1)
                return decline("the convolution has strides of its own");
            if (at.option("padding") != static_cast<int64_t>(circle::Padding::VALID) || parts.filter.isShared() ||
                parts.filter.lastDimension() != m[x].lastDimension())
              return decline("the convolution pads, or its filter has groups or other users");
            auto cuts = [&](bool same) {
              return llvm::all_of(std::array{1, 2}, [&](int axis) {
                return stride->at(axis) >= 1 && isCutEvenly(*sides, axis, parts.filter.shape()[axis], stride->at(axis),
                                                            m[x].shape()[axis], m[linear].shape()[axis], same);
              });
            };
            bool whole = cuts(false);
            if (!whole && !cuts(true))
              return decline("not padded by all of the filter but one, nor so that the result is as big as x, dilated");
            Activation activation = at.activation();
            if (activation != Activation::NONE && activation != Activation::RELU && activation != Activation::RELU6)
              return decline("an activation is fused that is no operator here");
            if (!m.every(parts.filter, [](double n) { return std::isfinite(n); }))
              return decline("the filter has numbers that are not finite, which zeros between pixels turn into NaN");
            auto reversed = [](Expr w, int32_t axis) { return op(Op::REVERSE_V2, {w, list({axis})}); };
            Expr result =
                op(Op::TRANSPOSE_CONV, {shapeOf(m[linear]), fold(reversed(reversed(parts.filter, 1), 2)), x})
                    .with("padding", static_cast<int64_t>(whole ? circle::Padding::VALID : circle::Padding::SAME))
                    .with("stride_h", stride->at(1))
                    .with("stride_w", stride->at(2));
            if (parts.bias && !m.every(parts.bias, [](double n) { return n == 0; }))
              result = result.bias(parts.bias);
            return m.replace(activation == Activation::NONE   ? result
                             : activation == Activation::RELU ? relu(result)
                                                              : relu6(result));
          }};
}

Pass RecogniseTransposeConv() {
  return {"recognise-transpose-conv",
          "conv(pad(dilate(x)), W) -> transpose_conv(x, W turned by half a turn)",
          Phase::Recognise,
          true,
          {},
          {ofDilated()}};
}

} // namespace origo
