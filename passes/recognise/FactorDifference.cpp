#include "passes/Spelling.h"

namespace origo {

/// x · r + (b − m · r) → (x − m) · r + b, as normalisation is often taken apart.
static Rule difference() {
  auto x = any(), r = any(), mean = any(), zero = constant();
  auto centre = (mean * r).once(), scaled = (x * r).once();
  auto pattern =
      (scaled + -centre) | (scaled + (zero - centre)) | (scaled - centre) | (scaled + ((-mean).once() * r).once());
  return {"difference", "not the difference of two multiples by the same", pattern, [=](Match &m) {
            if (!m[x].isFloat() || m[x].isConstant() || m[mean].isConstant() || m[r].isConstant())
              return decline("not float, or a constant that may be folded instead");
            if (m.has(zero) && !m.writesTflite() && m[r].lastDimension() != 1)
              return decline("one number a channel, as in a norm that is an operator");
            if (!m[scaled].hasShapeOf(m[x]))
              return decline("x is broadcast");
            bool offset = m.has(zero) && !(m[zero].elementCount() == 1 && m.isEvery(m[zero], 0));
            return m.replace(offset ? (x - mean) * r + zero : (x - mean) * r);
          }};
}

Pass FactorDifference() {
  return {"factor-difference",
          "x * r - m * r -> (x - m) * r, x * r + -m * r likewise, x * r + (b - m * r) -> (x - m) * r + b",
          Phase::Recognise,
          true,
          {},
          {difference()}};
}

} // namespace origo
