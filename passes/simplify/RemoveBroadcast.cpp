#include "passes/Rule.h"

namespace origo {

/// f(wide(x), y) → f(x, y) where f broadcasts by itself to the same shape; wide is broadcast_to, tile, or · ones.
static Rule beforeArithmetic() {
  auto x = any(), y = any(), repeats = any();
  auto broadcast = op(Op::BROADCAST_TO, {x}), tiled = op(Op::TILE, {x, repeats}), times = x * 1.0, plus = x + 0.0;
  auto wide = broadcast | tiled | times | plus;
  constexpr Op codes[] = {Op::ADD,     Op::SUB,        Op::MUL,     Op::DIV,           Op::MAXIMUM,
                          Op::MINIMUM, Op::POW,        Op::GREATER, Op::GREATER_EQUAL, Op::SQUARED_DIFFERENCE,
                          Op::LESS,    Op::LESS_EQUAL, Op::EQUAL,   Op::NOT_EQUAL};
  auto f = anyOf(codes, {wide, y}).mayActivate() | anyOf(codes, {y, wide}).mayActivate();
  return {
      "before-arithmetic", "no operand is the result of a broadcast", f, [=](Match &m) {
        Tensor before = m.has(broadcast) ? m[broadcast] : m.has(tiled) ? m[tiled] : m.has(times) ? m[times] : m[plus];
        Tensor result = m.root().result();
        if (!m[x].isStatic() || !m[y].isStatic() || !before.isStatic() || !result.isStatic())
          return decline("the shapes are not known before run time");
        if (result.rank() > 4)
          return decline("kernels broadcast four dimensions at most");
        if (!m[x].hasTypeOf(before) || !m[x].hasQuantizationOf(before) || !m[x].isPerTensor())
          return decline("the broadcast changes the quantisation");
        return m.replace(cloneRoot().operand(m.root().operand(0u) == before ? 0 : 1, x)); // else the shape changes
      }};
}

Pass RemoveBroadcast() {
  return {"remove-broadcast",
          "f(broadcast_to(x), y), f(tile(x), y), f(x * ones, y), f(x + zeros, y) -> f(x, y) where f broadcasts by "
          "itself to the same shape",
          Phase::Simplify,
          true,
          {},
          {beforeArithmetic()}};
}

} // namespace origo
