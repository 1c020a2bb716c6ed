#include "passes/Rule.h"

namespace origo {

/// relu(x · γ + β) → relu(x · γ' + β), where γ' is 1e-10 instead of each negative number. It changes results.
static Rule positive() {
  auto x = any(), gamma = constant(), beta = constant();
  auto product = (x * gamma).once();
  auto sum = (product + beta).mayActivate();
  return {"positive", "not a constant multiple, used once, plus a constant", sum, [=](Match &m) {
            if (m.root().activation() != Activation::RELU || !m[x].isFloat() || !m[gamma].isFloat())
              return decline("not float with a fused RELU");
            if (m.every(m[gamma], [](double n) { return n >= 0; }))
              return decline("gamma is positive already");
            Expr clamped = fold(op(Op::SELECT_V2, {op(Op::LESS, {gamma, 0.0}), 1e-10, gamma}));
            return m.replace(
                clone(sum).operand(m.positionOf(product), clone(product).operand(0, x).operand(1, clamped)));
          }};
}

Pass MakeBatchNormPositive() {
  return Pass{
      "make-batch-norm-positive",
      "relu(x * g + b) -> relu(x * g' + b), g' = 1e-10 where g < 0: changes results, for fuse-preactivation-batch-norm",
      Phase::Fuse,
      false,
      {{"make_batchnorm_gamma_positive", {}}},
      {positive()},
      /*mergesConstants=*/false,
      /*changesResults=*/true}
      .within("g * x in the channels of a negative g")
      .about("A negative `g` turns its channel round before the RELU, which `fuse-preactivation-batch-norm` "
             "cannot move through: it needs relu(g * y) = g * relu(y). With 1e-10 in its place the channel is "
             "relu(b) but for a trace of `x`, whatever `x` is. So results differ in each channel with a negative "
             "`g`, by as much as `g * x` told there: by design, as in the circle toolchain, for networks in which "
             "such channels are few and hardly matter. A `g` of zero stays. Measure it: `circle-eval-diff` on the "
             "models before and after.");
}

} // namespace origo
