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

/// f(concat(x, x, x), y) → f(x, y) where x has one element along the dimension, and f broadcasts to the same shape.
static Rule ofCopies() {
  auto x = any(), y = any();
  auto copies = op(Op::CONCATENATION, {}).each(x);
  auto f = anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {copies, y}).mayActivate() |
           anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {y, copies}).mayActivate();
  return {"of-copies", "no operand is a concatenation", f, [=](Match &m) {
            Node joined = m.op(copies);
            Tensor one = m.at(0, x), wide = m[copies], result = m.root().result();
            for (unsigned i = 1; i < joined.operandCount(); ++i)
              if (!(m.at(i, x) == one))
                return decline("several are joined");
            int64_t axis = joined.option("axis");
            axis += axis < 0 ? wide.rank() : 0;
            if (!one.isStatic() || !wide.isStatic() || !m[y].isStatic() || !result.isStatic() || result.rank() > 4 ||
                axis < 0 || axis >= one.rank() || one.shape()[axis] != 1 || !one.isPerTensor() ||
                !one.hasQuantizationOf(wide))
              return decline("repeated along more than one element, or the shapes are not known before run time");
            return m.replace(cloneRoot().operand(m.positionOf(copies), one)); // else the shape changes
          }};
}

Pass RemoveBroadcast() {
  return {
      "remove-broadcast",
      "f(broadcast_to(x), y), f(tile(x), y), f(x * ones, y), f(x + zeros, y), f(concat(x, x), y) -> f(x, y) where f "
      "broadcasts by itself to the same shape",
      Phase::Simplify,
      true,
      {},
      {beforeArithmetic(), ofCopies()}};
}

} // namespace origo
