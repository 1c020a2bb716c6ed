#include "passes/Spelling.h"

namespace origo {

/// x · r + (0 − m · r) → (x − m) · r, as layer normalisation is often taken apart.
static Rule difference() {
  auto x = any(), r = any(), mean = any(), zero = constant();
  auto centre = (mean * r).once(), scaled = (x * r).once();
  auto pattern = (scaled + -centre) | (scaled + (zero - centre)) | (scaled - centre);
  return {"difference", "not the difference of two multiples by the same", pattern, [=](Match &m) {
            if (!m[x].isFloat() || m[x].isConstant() || m[mean].isConstant() || m[r].isConstant())
              return decline("not float, or a constant that may be folded instead");
            // One number a channel is the offset of a norm, which is an operator.
            if (m.has(zero) && (m[zero].elementCount() != 1 || !m.isEvery(m[zero], 0)))
              return decline("the offset is not one zero");
            if (!m[scaled].hasShapeOf(m[x]))
              return decline("x is broadcast");
            return m.replace((x - mean) * r);
          }};
}

Pass FactorDifference() {
  return {"factor-difference", "x * r - m * r -> (x - m) * r", Phase::Recognise, true, {}, {difference()}};
}

} // namespace origo
