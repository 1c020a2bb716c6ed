#include "passes/Spelling.h"

#include <cmath>

namespace origo {

/// Half of x times 1 + tanh(√(2/π)·(x + 0.044715·x³)).
static Rule byTanh() {
  const float root = 0.7978845608F, third = 0.044715F;
  auto x = any();
  auto cube = pow(x, 3) | x * square(x) | x * (x * x), squared = square(x) | x * x;
  auto factor = 1 + near(third) * squared;
  auto inner = [&](double times) {
    const double scale = times * static_cast<double>(root);
    const Quotient both{scale * static_cast<double>(third)}; // which no float is
    return near(scale) * (x + near(third) * cube) | near(scale) * x * factor | (near(scale) * x + near(both) * cube) |
           x * (near(scale) + near(both) * squared);
  };
  auto gated = x * op(Op::LOGISTIC, {inner(2)}); // which is half of 1 + tanh of half of that
  return Rule{"tanh", "not x/2 · (1 + tanh(0.798·(x + 0.0447·x³)))", halfOfGated(x, tanh(inner(1))) | gated,
              gelu(x).with("approximate", 1)}
      .assumes("what is 0.7978846 or 0.044715 but for a rounding to float16 is that");
}

/// Half of x times 1 + erf(x/√2).
static Rule byErf() {
  auto x = any();
  const double rootHalf = static_cast<double>(0.70710678118654752f); // as the operator has it
  auto scaled = x * near(rootHalf) | x / near({1, rootHalf});
  auto opposite = negated(scaled) | negated(x) * near(rootHalf) | negated(x) / near({1, rootHalf}) |
                  x * near(-rootHalf) | x / near({-1, rootHalf});
  auto byOpposite = 0.5 * x * (1.0 - custom("Erf", {opposite}));
  return Rule{"erf", "not x/2 · (1 + erf(x/√2))", halfOfGated(x, custom("Erf", {scaled})) | byOpposite, gelu(x)}
      .assumes("what is 0.70710677 but for a rounding to float16 is that, and 1.4142135 is 1 / 0.70710677");
}

/// Are two weights in the proportion 1 : √½, up to the rounding of both?
static bool areRootHalf(float a, float b, float) {
  double expected = static_cast<double>(a) * 0.70710678118654752;
  return std::isfinite(a) && std::abs(static_cast<double>(b) - expected) <= 1e-6 * std::abs(expected);
}

/// fc(x, W, b) · (1 + erf(fc(x, √½·W, √½·b))) → 2 · gelu(fc(x, W, b))
static Rule ofTwoProducts() {
  auto x = any(), w = constant(), b = optionalConstant(), w2 = constant(), b2 = optionalConstant();
  auto linear = op(Op::FULLY_CONNECTED, {x, w, b}).once(), scaled = op(Op::FULLY_CONNECTED, {x, w2, b2});
  return {"two-products", "not fc(x) · (1 + erf(√½·fc(x)))", linear * (1 + custom("Erf", {scaled})), [=](Match &m) {
            for (llvm::StringRef option : {"keep_num_dims", "weights_format"})
              if (m.op(linear).option(option) != m.op(scaled).option(option))
                return decline("the two have different options");
            if (!m[w].isFloat() || !m[w2].isFloat() || !m[w].hasShapeOf(m[w2]) || !m.everyOf(w - w2, areRootHalf))
              return decline("the weights are not in the proportion 1 : √½");
            bool biased = bool(m[b]);
            if (biased != bool(m[b2]) || (biased && (!m[b].hasShapeOf(m[b2]) || !m.everyOf(b - b2, areRootHalf))))
              return decline("the biases are not in the proportion 1 : √½");
            return m.replace(2 * gelu(clone(linear)));
          }};
}

Pass RecogniseGelu() {
  return {"recognise-gelu",
          "x/2 * (1 + tanh(0.798*(x + 0.0447*x^3))), x * logistic(1.596*(x + 0.0447*x^3)), x/2 * (1 + erf(x/sqrt(2))) "
          "-> gelu(x)",
          Phase::Recognise,
          true,
          {{"fuse_gelu", {}}, {"replace_with_fc_gelu_fc", {{Op::MUL, Op::FULLY_CONNECTED}}}},
          {byTanh(), byErf(), ofTwoProducts()}};
}

} // namespace origo
