#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// x · 0 → 0, and(x, false) → false
static Rule zero() {
  auto x = any(), zero = constant();
  return {"zero", "no constant operand, or an activation is fused", anyOf({Op::MUL, Op::LOGICAL_AND}, {x, zero}),
          [=](Match &m) {
            Tensor result = m.root().result();
            Range known = m.range(m[x]);
            if (!m.isEvery(m[zero], 0))
              return decline("the constant is not zero, or quantised");
            if (m[x].isFloat() && !(known.low >= 0 && !std::signbit(known.low) && std::isfinite(known.high)))
              return decline("what is multiplied by zero may be infinite, no number, or make a negative zero");
            if (!result.isStatic() || result.isOutput())
              return decline("a graph output, or of a shape that is not known before run time");
            bool same = m[zero].hasShapeOf(result);
            if (!same && *result.elementCount() > 4096)
              return decline("the zeros would be much bigger than the constant");
            return m.replace(same ? zero : fold(broadcastTo(zero, shapeOf(result))));
          }};
}

Pass FoldTimesZero() {
  return {"fold-times-zero",
          "x * 0 -> 0 for integers and what is known to be finite and not negative, and(x, false) -> false",
          Phase::Simplify,
          true,
          {},
          {zero()}};
}

} // namespace origo
