#include "passes/Rule.h"

namespace origo {

/// conv(x, W) → conv(x, W, 0)
Pass AddMissingBias() {
  auto x = any(), weights = any();
  auto linear = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {x, weights}).mayActivate();
  Rule zeros("zeros", "not a convolution", linear, [=](Match &m) {
    if (m.op(linear).operand("bias"))
      return decline("has a bias");
    if (!m[x].isFloat() || !m[weights].isFloat() || !m[linear].isFloat() || m[linear].lastDimension() < 1)
      return decline("not float, or of unknown channels");
    return m.replace(clone(linear).bias(fold(broadcastTo(reshape(0.0, list({1})), list({m[linear].lastDimension()})))));
  });
  return Pass{"add-missing-bias", "conv(x, W) -> conv(x, W, 0)", Phase::Backend, false, {}, {zeros}}.mending();
}

} // namespace origo
