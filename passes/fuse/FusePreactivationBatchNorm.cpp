#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// A shift divided by a scale that is positive: finite, and nothing is lost.
static bool isSoundShift(float shift, float scale, float moved) {
  return std::isfinite(shift) && std::isnormal(scale) && scale > 0 && (shift == 0 || std::isnormal(moved));
}

/// relu(x · γ + β) → relu(x + β/γ) · γ with γ > 0: the product goes on into what follows, the sum into what leads to x.
static Rule move() {
  auto x = any(), gamma = constant(), beta = constant();
  auto product = (x * gamma).once();
  auto sum = (product + beta).mayActivate();
  return {"move", "not a constant multiple, used once, plus a constant", sum, [=](Match &m) {
            if (m.root().activation() != Activation::RELU)
              return decline("no RELU is fused");
            if (!m[x].isFloat() || !m[x].hasShapeOf(m[sum]) || !isPerChannel(m[gamma], m[x], m[x].lastDimension()) ||
                !isPerChannel(m[beta], m[x], m[x].lastDimension()))
              return decline("gamma or beta is not one number a channel");
            Expr moved = beta / gamma;
            if (!m.everyOf(moved, isSoundShift))
              return decline("gamma is not positive, or beta/gamma is not finite or not normal");
            return m.replace(
                clone(product).operand(0, clone(sum).operand(0, x).operand(1, fold(moved))).operand(1, gamma));
          }};
}

Pass FusePreactivationBatchNorm() {
  return Pass{
      "fuse-preactivation-batch-norm",
      "relu(x * g + b) -> relu(x + b/g) * g, g > 0; g goes into the convolutions behind, b/g into those in front",
      Phase::Fuse,
      false,
      {{"fuse_preactivation_batchnorm", {}}},
      {move()}}
      .about("For networks that normalise in front of their convolutions (ResNet v2). The rule itself only puts "
             "the scale behind the RELU, which it passes because it is positive; `fuse-from-in-front`, which the "
             "same flag asks for, works it into the convolutions that follow. Where `g` is negative see "
             "`make-batch-norm-positive`.");
}

} // namespace origo
