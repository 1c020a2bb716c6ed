#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// x · rsqrt(mean(x²) + ε) that nothing is multiplied to (recognise-rms-norm has had its turn) → rms_norm(x, 1)
static Rule bare() {
  auto x = any(), axes = constant(), epsilon = constant();
  auto average = mean(square(x) | x * x, axes).with("keep_dims", 1) + epsilon;
  auto norm = x * (rsqrt(average) | 1 / sqrt(average)) | x / sqrt(average);
  return {"bare", "not x · rsqrt(mean(x²) + ε)", norm, [=](Match &m) {
            std::optional<Integers> over = m.integers(m[axes]);
            if (!over || !over->isLastAxisOf(m[x].rank()))
              return decline("the mean is not over the last axis");
            std::optional<Number> small = m.number(m[epsilon]);
            if (!small || m[x].lastDimension() < 1)
              return decline("epsilon is not one number, or the last dimension is not known");
            Expr ones = fold(broadcastTo(reshape(1.0, list({1})), list({m[x].lastDimension()})));
            return m.replace(rmsNorm(x, ones).with("epsilon", *small));
          }};
}

/// rms_norm(x, γ) · c → rms_norm(x, γ · c)
static Rule scaled() {
  auto x = any(), gamma = constant(), c = constant();
  auto norm = rmsNorm(x, gamma).once();
  return {"scaled", "not a constant multiple of an RMS norm that is used once", norm * c, [=](Match &m) {
            bool perChannel = m[c].rank() <= m[x].rank() && m[c].lastDimension() == m[x].lastDimension();
            if (!m[c].isFloat() ||
                (m[c].elementCount() != 1 &&
                 (!perChannel || m[c].elementCount() != static_cast<uint64_t>(m[x].lastDimension()))))
              return decline("the constant is not one number a channel");
            Expr factor = gamma * reshape(c, list({static_cast<int32_t>(*m[c].elementCount())}));
            auto isSound = [](float a, float b, float ab) {
              return std::isfinite(ab) && (a == 0 || b == 0 || std::isnormal(ab));
            };
            if (!m.everyOf(factor, isSound))
              return decline("a product is not finite or not normal");
            return m.replace(clone(norm).operand("gamma", fold(factor)));
          }};
}

Pass FuseRmsNorm() {
  return {"fuse-rms-norm",
          "x * rsqrt(mean(x*x) + e) -> rms_norm(x, 1), rms_norm(x, g) * c -> rms_norm(x, g*c)",
          Phase::Fuse,
          false,
          {{"fuse_rmsnorm", {{Op::MUL, Op::MEAN}, {Op::DIV, Op::MEAN}}},
           {"fuse_mul_with_rmsnorm", {{Op::MUL, Op::RMS_NORM}}}},
          {bare(), scaled()}};
}

} // namespace origo
