#include "passes/Rule.h"

namespace origo {

/// x / √y → x · rsqrt(y)
static Rule quotient() {
  auto x = any(), y = any();
  auto root = sqrt(y).once();
  auto quotient = (x / root).mayActivate();
  return {"quotient", "not divided by a root that is used once", quotient, [=](Match &m) {
            if (!m[x].isFloat() || m[x].isConstant())
              return decline("not float, or a constant that would be multiplied instead");
            return m.replace((x * rsqrt(y)).activation(m.root().activation()));
          }};
}

/// 1 / √y → rsqrt(y), however many elements
static Rule reciprocal() {
  auto y = any();
  auto root = sqrt(y).once();
  return {"reciprocal", "not one over a root that is used once", 1 / root, [=](Match &m) {
            if (!m[y].isFloat() || !m[root].hasShapeOf(m.root().result()))
              return decline("not float, or the shape changes");
            return m.replace(rsqrt(y));
          }};
}

Pass MultiplyByRsqrt() {
  return Pass{"multiply-by-rsqrt",
              "x / sqrt(y) -> x * rsqrt(y), 1 / sqrt(y) -> rsqrt(y)",
              Phase::Backend,
              false,
              {{"fuse_rsqrt", {}}, {"transform_sqrt_div_to_rsqrt_mul", {}}},
              {quotient(), reciprocal()}}
      .about(
          "As many operators as before, of another kind: a back end that has RSQRT gains a division, and one that has "
          "SQRT "
          "and DIV alone, as XNNPACK had them for long, no longer takes the network as a whole. So it is asked for.");
}

} // namespace origo
