#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// linear(x, W, b) · s → linear(x, W·s, b·s), and with / s. Behind a RELU where s is not negative: relu(y) · s is
/// relu(y · s).
static Rule scale(llvm::StringLiteral name, Op code) {
  auto s = constant();
  auto linear = anyWith(Trait::Linear).mayActivate().once();
  auto scaled = op(code, {linear, s}).mayActivate();
  return {name, "not a constant multiple of a linear operator used once", scaled, [=](Match &m) {
            Linear parts;
            if (const char *why = fusionRefusal(m, linear, m[s], parts))
              return decline(why);
            bool finite = code == Op::MUL ? m.every(m[s], [](double n) { return std::isfinite(n); })
                                          : m.every(m[s], [](double n) { return std::isfinite(1 / n); });
            if (!finite)
              return decline("the constant is not finite, or divides by zero");
            Activation inner = m.op(linear).activation(), outer = m.root().activation();
            bool passes = inner == Activation::RELU && (outer == Activation::NONE || outer == inner) &&
                          m.every(m[s], [](double n) { return n >= 0; });
            if (inner != Activation::NONE && !passes)
              return decline("a factor is negative, or the activation in between is not RELU");
            Expr filter = scaledFilter(parts, m[s], code);
            if (!m.everyOf(filter, keepsWeight))
              return decline("a scaled weight is not representable");
            Expr fused = clone(linear).filter(fold(filter)).activation(passes ? inner : outer);
            if (!parts.bias)
              return m.replace(fused);
            Expr bias = op(code, {parts.bias, listed(m[s])});
            if (!m.everyOf(bias, [](float, float, float result) { return std::isfinite(result); }))
              return decline("a fused bias is not representable");
            return m.replace(fused.bias(fold(bias)));
          }};
}

/// −linear(x, W, b) → linear(x, −W, −b)
static Rule negation() {
  auto linear = anyWith(Trait::Linear).once();
  return {"negation", "not the opposite of a linear operator used once", -linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            if (parts.filter.isShared() && !m.isReadLikewise(parts.filter, m.op(linear)))
              return decline("the filter has other users, for whom it would have to stay");
            Expr opposite = clone(linear).filter(fold(-parts.filter));
            return m.replace(parts.bias ? opposite.bias(fold(-parts.bias)) : opposite);
          }};
}

Pass FuseScaleIntoLinear() {
  return {
      "fuse-scale-into-linear",
      "linear(x, W, b) * s -> linear(x, W*s, b*s), s constant along the output channels, also behind a RELU where s "
      "is not negative, -linear(x, W, b) -> linear(x, -W, -b)",
      Phase::Fuse,
      true,
      {{"fuse_mul_with_conv", {{Op::MUL, Op::CONV_2D}, {Op::MUL, Op::DEPTHWISE_CONV_2D}}},
       {"fuse_mul_with_fullyconnected", {{Op::MUL, Op::FULLY_CONNECTED}}},
       {"fuse_batchnorm_with_conv", {{Op::MUL, Op::CONV_2D}}},
       {"fuse_batchnorm_with_dwconv", {{Op::MUL, Op::DEPTHWISE_CONV_2D}}},
       {"fuse_batchnorm_with_tconv", {{Op::MUL, Op::TRANSPOSE_CONV}}}},
      {scale("product", Op::MUL), scale("quotient", Op::DIV), negation()}};
}

} // namespace origo
