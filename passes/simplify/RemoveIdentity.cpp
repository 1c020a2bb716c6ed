#include "passes/Rule.h"

namespace origo {

/// x + 0 → x, x − 0 → x, x · 1 → x, x / 1 → x
static Rule neutralArithmetic() {
  auto x = any(), c = constant();
  auto sum = anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {x, c});
  return {
      "neutral-arithmetic", "no constant operand, or an activation is fused", sum, [=](Match &m) {
        bool shifts = m.root().code() == Op::ADD || m.root().code() == Op::SUB;
        if (m[c].isQuantized())
          return decline("quantised");
        if (!(shifts ? m.every(m[c], [](double n) { return n == 0; }) : m.every(m[c], [](double n) { return n == 1; })))
          return decline("the constant is not the neutral element");
        bool one = m[c].elementCount() == 1 && m[c].rank() <= m[x].rank(); // whatever the dimensions of x
        if (!one && (!m[x].isStatic() || !m.root().result().isStatic()))
          return decline("the broadcast is not known before run time");
        return m.replace(x);
      }};
}

/// reshape, slice, transpose, pad, … that keep a static shape and the order of the elements keep the value.
static Rule sameShape() {
  auto x = any();
  auto moved = anyOf({Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS, Op::SLICE, Op::PAD, Op::PADV2, Op::MIRROR_PAD,
                      Op::TILE, Op::BROADCAST_TO, Op::CONCATENATION, Op::STRIDED_SLICE, Op::TRANSPOSE},
                     {x});
  return {"same-shape", "has a fused activation", moved, [=](Match &m) {
            Tensor result = m.root().result();
            if (m.root().resultCount() != 1 || !m[x].isStatic() || !result.isStatic() || !m[x].hasShapeOf(result))
              return decline("changes the shape, or it is not known before run time");
            if (m.root().code() == Op::CONCATENATION && m.root().operandCount() != 1)
              return decline("joins several tensors");
            if (!m.keepsOrder())
              return decline("moves elements, or what tells is not constant");
            return m.replace(x);
          }};
}

/// cast(x) → x where the types are equal.
static Rule sameType() {
  auto x = any();
  return {"cast", "", cast(x),
          [=](Match &m) { return m[x].hasTypeOf(m.root().result()) ? m.replace(x) : decline("changes the type"); }};
}

/// split into one part → its operand.
static Rule onePart() {
  auto x = any();
  return {"split", "", anyOf({Op::SPLIT}, {any(), x}) | anyOf({Op::SPLIT_V}, {x}),
          [=](Match &m) { return m.root().resultCount() == 1 ? m.replace(x) : decline("has several parts"); }};
}

/// relu(x) → x where x is clamped already.
static Rule clampedBefore() {
  auto x = any();
  return {"clamped", "", relu(x) | relu6(x) | op(Op::RELU_N1_TO_1, {x}), [=](Match &m) {
            Op code = m.root().code();
            Range known = m.range(m[x]);
            double low = code == Op::RELU_N1_TO_1 ? -1 : 0;
            bool above = code == Op::RELU6 ? known.high <= 6 : code == Op::RELU_N1_TO_1 ? known.high <= 1 : true;
            return known.low >= low && above ? m.replace(x) : decline("what is clamped may lie outside");
          }};
}

Pass RemoveIdentity() {
  return {"remove-identity",
          "an operator whose result is its operand: x+0, x*1, cast to the same type, reshape to the same shape, …",
          Phase::Simplify,
          true,
          {{"remove_unnecessary_add", {{Op::ADD, {}}}},
           {"remove_unnecessary_cast", {{Op::CAST, {}}}},
           {"remove_unnecessary_div", {{Op::DIV, {}}}},
           {"remove_unnecessary_mul", {{Op::MUL, {}}}},
           {"remove_unnecessary_reshape", {{Op::RESHAPE, {}}}},
           {"remove_unnecessary_slice", {{Op::SLICE, {}}}},
           {"remove_unnecessary_split", {{Op::SPLIT, {}}, {Op::SPLIT_V, {}}}},
           {"remove_unnecessary_strided_slice", {{Op::STRIDED_SLICE, {}}}},
           {"remove_unnecessary_transpose", {{Op::TRANSPOSE, {}}}}},
          {neutralArithmetic(), sameShape(), sameType(), onePart(), clampedBefore()}};
}

} // namespace origo
