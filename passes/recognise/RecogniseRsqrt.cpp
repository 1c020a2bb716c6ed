#include "passes/Rule.h"

namespace origo {

/// XNNPACK has had SQRT and DIV for long, and RSQRT not, which plain kernels compute in six times their time.
static bool isLarge(Tensor x) { return x.elementCount().value_or(0) > 1024; }

/// 1 / √x → rsqrt(x)
static Rule reciprocal() {
  auto y = any();
  auto root = sqrt(y).once();
  auto inverse = 1 / root;
  return {"reciprocal", "not one over a root that is used once", inverse, [=](Match &m) {
            bool grows = m[root].rank() < m.root().result().rank(); // 1 may have more dimensions than the root
            if (isLarge(m[y]))
              return decline("so many elements that a delegate without RSQRT would be missed");
            return m[y].isFloat() && !grows ? m.replace(rsqrt(y)) : decline("not float, or the shape changes");
          }};
}

/// √(1 / x) → rsqrt(x)
static Rule ofReciprocal() {
  auto x = any();
  auto inverse = (1 / x).once();
  return {"of-reciprocal", "not the root of a reciprocal that is used once", sqrt(inverse), [=](Match &m) {
            bool grows = m[x].rank() < m[inverse].rank();
            if (isLarge(m[x]))
              return decline("so many elements that a delegate without RSQRT would be missed");
            return m[x].isFloat() && !grows ? m.replace(rsqrt(x)) : decline("not float, or the shape changes");
          }};
}

Pass RecogniseRsqrt() {
  return {"recognise-rsqrt",    "1 / sqrt(x), sqrt(1 / x) -> rsqrt(x), of at most 1024 elements",
          Phase::Recognise,     true,
          {{"fuse_rsqrt", {}}}, {reciprocal(), ofReciprocal()}};
}

} // namespace origo
