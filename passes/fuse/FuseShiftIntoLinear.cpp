#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// linear(x, W, b) + c → linear(x, W, b + c); with − c; and c − linear(x, W, b) → linear(x, −W, c − b).
static Rule shift(llvm::StringLiteral name, Op code, bool mirrored) {
  auto c = constant();
  auto linear = anyWith(Trait::Linear).once();
  auto shifted = op(code, mirrored ? std::vector{c, linear} : std::vector{linear, c}).mayActivate();
  return {name, "not a constant added to a linear operator used once", shifted, [=](Match &m) {
            Linear parts;
            if (const char *why = fusionRefusal(m, linear, m[c], parts))
              return decline(why);
            if (!m.every(m[c], [](double n) { return std::isfinite(n); }))
              return decline("the constant is not finite");
            Expr flat = listed(m[c]);
            if (!parts.bias && m[c].elementCount() == 1)
              flat = broadcastTo(flat, list({parts.channels}));
            Expr bias = code == Op::SUB && !mirrored ? -flat : flat;
            if (parts.bias) {
              bias = op(code, mirrored ? std::vector<Expr>{flat, parts.bias} : std::vector<Expr>{parts.bias, flat});
              if (!m.everyOf(bias, [](float, float, float result) { return std::isfinite(result); }))
                return decline("a fused bias is not representable");
            }
            Expr fused = clone(linear).bias(fold(bias)).activation(m.root().activation());
            return m.replace(mirrored ? fused.filter(fold(-parts.filter)) : fused);
          }};
}

/// (linear(x, W, b) + y) + c → (linear(x, W, b) + c) + y, where the constant becomes a bias.
static Rule behindSum() {
  auto c = constant(), y = any();
  auto linear = anyWith(Trait::Linear).filter(constant()).once();
  auto inner = (linear + y).once();
  auto outer = op(Op::ADD, {inner, c}).mayActivate();
  return {"behind-sum", "not a constant added to a sum with a linear operator, each used once", outer, [=](Match &m) {
            if (m[y].isConstant() || !m[linear].hasShapeOf(m[inner]) || !m[inner].hasShapeOf(m[outer]) ||
                !isPerChannel(m[c], m[linear], m[linear].lastDimension()))
              return decline("the linear summand is broadcast, or the constant is not one number a channel");
            unsigned linearAt = m.op(inner).operand(0) == m[linear] ? 0 : 1;
            Expr biased = clone(outer).operand(m.positionOf(inner), linear).activation(Activation::NONE);
            return m.replace(clone(inner).operand(linearAt, biased).activation(m.root().activation()));
          }};
}

Pass FuseShiftIntoLinear() {
  return {"fuse-shift-into-linear",
          "linear(x, W, b) + c -> linear(x, W, b+c), c constant along the output channels; also where something else "
          "was added before",
          Phase::Fuse,
          true,
          {{"fuse_add_with_conv", {{Op::ADD, Op::CONV_2D}, {Op::ADD, Op::DEPTHWISE_CONV_2D}}},
           {"fuse_preactivation_batchnorm", {{Op::ADD, Op::CONV_2D}, {Op::ADD, Op::DEPTHWISE_CONV_2D}}},
           {"fuse_add_with_fully_connected", {{Op::ADD, Op::FULLY_CONNECTED}}},
           {"fuse_add_with_tconv", {{Op::ADD, Op::TRANSPOSE_CONV}}},
           {"fuse_batchnorm_with_conv", {{Op::ADD, Op::CONV_2D}}},
           {"fuse_batchnorm_with_dwconv", {{Op::ADD, Op::DEPTHWISE_CONV_2D}}},
           {"fuse_batchnorm_with_tconv", {{Op::ADD, Op::TRANSPOSE_CONV}}}},
          {shift("sum", Op::ADD, false), shift("difference", Op::SUB, false), shift("mirrored", Op::SUB, true),
           behindSum()}};
}

} // namespace origo
