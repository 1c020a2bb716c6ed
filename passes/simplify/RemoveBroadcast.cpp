#include "passes/Rule.h"

namespace origo {

/// f(broadcast_to(x), y) → f(x, y) where y is as big as the result already: f broadcasts by itself.
static Rule beforeArithmetic() {
  auto x = any(), y = any();
  auto wide = anyOf({Op::BROADCAST_TO}, {x});
  auto f = anyOf({Op::ADD, Op::MUL}, {wide, y}).mayActivate();
  return {"before-arithmetic", "no operand is the result of a broadcast", f, [=](Match &m) {
            if (!m[y].isStatic() || !m[f].isStatic() || !m[y].hasShapeOf(m[f]) || !m[x].isStatic())
              return decline("the other operand is not as big as the result");
            if (!m[x].hasTypeOf(m[wide]) || !m[x].hasQuantizationOf(m[wide]) || !m[x].isPerTensor())
              return decline("the broadcast changes the quantisation");
            return m.replace(clone(f).operand(m.positionOf(wide), x));
          }};
}

Pass RemoveBroadcast() {
  return {"remove-broadcast",
          "f(broadcast_to(x), y) -> f(x, y) where y has the shape of the result",
          Phase::Simplify,
          true,
          {},
          {beforeArithmetic()}};
}

} // namespace origo
