#include "passes/Rule.h"

namespace origo {

/// pad(pad(x, a), b) → pad(x, a + b)
static Rule zeros() {
  auto x = any(), a = constant(), b = constant();
  auto inner = op(Op::PAD, {x, a}).once(), outer = op(Op::PAD, {inner, b});
  return {"zeros", "not padded twice with zeros, the first used once", outer, [=](Match &m) {
            if (!m[a].hasTypeOf(m[b]) || !m[a].hasShapeOf(m[b]))
              return decline("the widths are of different types");
            if (!m[x].hasQuantizationOf(m[inner]) || !m[inner].hasQuantizationOf(m[outer]))
              return decline("changes the quantisation");
            return m.replace(clone(outer).operand(0, x).operand(1, fold(a + b)));
          }};
}

Pass MergePads() { return {"merge-pads", "pad(pad(x, a), b) -> pad(x, a + b)", Phase::Simplify, true, {}, {zeros()}}; }

} // namespace origo
