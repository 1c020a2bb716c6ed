#include "passes/Rule.h"

namespace origo {

/// 1 / √x → rsqrt(x), and x / √y → x · rsqrt(y)
static Rule reciprocal() {
  auto y = any();
  auto root = sqrt(y).once();
  auto inverse = 1 / root;
  return {"reciprocal", "not one over a root that is used once", inverse, [=](Match &m) {
            bool grows = m[root].rank() < m.root().result().rank(); // 1 may have more dimensions than the root
            return m[y].isFloat() && !grows ? m.replace(rsqrt(y)) : decline("not float, or the shape changes");
          }};
}

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

Pass RecogniseRsqrt() {
  return {"recognise-rsqrt",
          "1 / sqrt(x) -> rsqrt(x), x / sqrt(y) -> x * rsqrt(y)",
          Phase::Recognise,
          true,
          {{"fuse_rsqrt", {}}, {"transform_sqrt_div_to_rsqrt_mul", {}}},
          {reciprocal(), quotient()}};
}

} // namespace origo
