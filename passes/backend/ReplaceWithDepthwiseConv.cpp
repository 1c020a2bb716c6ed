#include "passes/Linear.h"

namespace origo {

/// x · γ + β → depthwise_conv_2d(x, γ, β) with windows of one element, for back ends that are good at that.
static Rule affine() {
  auto x = any(), gamma = constant(), beta = constant();
  auto sum = ((x * gamma).once() + beta).mayActivate();
  return {
      "affine", "not a constant multiple, used once, plus a constant", sum, [=](Match &m) {
        int32_t channels = m[x].lastDimension();
        if (!m[x].isFloat() || m[x].rank() != 4 || !m[x].hasShapeOf(m[sum]) || channels < 1)
          return decline("not a float tensor of rank 4 that keeps its shape");
        if (!isPerChannel(m[gamma], m[x], channels) || !isPerChannel(m[beta], m[x], channels))
          return decline("a constant is not one number a channel");
        auto spread = [&](Tensor c, llvm::ArrayRef<int32_t> shape) {
          Expr flat = c.elementCount() == 1 ? broadcastTo(listed(c), list({channels})) : Expr(c);
          return fold(reshape(flat, list(shape)));
        };
        Expr conv = op(Op::DEPTHWISE_CONV_2D, {x, spread(m[gamma], {1, 1, 1, channels}), spread(m[beta], {channels})});
        conv =
            conv.with("padding", static_cast<int64_t>(circle::Padding::VALID)).with("stride_w", 1).with("stride_h", 1);
        return m.replace(conv.with("depth_multiplier", 1).activation(m.root().activation()));
      }};
}

Pass ReplaceWithDepthwiseConv() {
  return {"replace-with-depthwise-conv",
          "x * g + b -> depthwise_conv_2d(x, g, b) with windows of one element",
          Phase::Backend,
          false,
          {{"replace_cw_mul_add_with_depthwise_conv", {}}},
          {affine()}};
}

} // namespace origo
