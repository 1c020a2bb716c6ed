#include "passes/Linear.h"
#include "passes/Rule.h"

namespace origo {

/// x · rsqrt(mean(x²) + ε) · γ → rms_norm(x, γ). With x = z − mean(z) it is what layer normalisation does.
static Rule withGamma() {
  auto x = any(), axes = constant(), epsilon = constant(), gamma = constant();
  auto average = mean(square(x) | x * x, axes).with("keep_dims", 1); // else it would broadcast along other dimensions
  auto root = rsqrt(average + epsilon) | 1 / sqrt(average + epsilon);
  auto norm = x * root * gamma | (x / sqrt(average + epsilon)) * gamma;
  return {"rms-norm", "not x · rsqrt(mean(x²) + ε) · γ", norm, [=](Match &m) {
            std::optional<Integers> over = m.integers(m[axes]);
            if (!over || !over->isLastAxisOf(m[x].rank()))
              return decline("the mean is not over the last axis");
            Tensor factor = m[gamma];
            int32_t channels = m[x].lastDimension();
            if (channels < 1 || !isPerChannel(factor, m[x], channels))
              return decline("gamma is not one number a channel");
            std::optional<Number> small = m.number(m[epsilon]);
            if (!small)
              return decline("epsilon is not one number");
            bool isList = factor.rank() == 1 && factor.lastDimension() == channels;
            Expr flat = factor.elementCount() == 1 ? broadcastTo(listed(factor), list({channels})) : listed(factor);
            return m.replace(rmsNorm(x, isList ? Expr(gamma) : fold(flat)).with("epsilon", *small));
          }};
}

Pass RecogniseRmsNorm() {
  return {"recognise-rms-norm",
          "x * rsqrt(mean(x*x) + e) * g -> rms_norm(x, g), also of x - mean(x), as in layer normalisation",
          Phase::Recognise,
          false,
          {{"fuse_rmsnorm", {}}},
          {withGamma()}};
}

} // namespace origo
