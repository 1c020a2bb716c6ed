#include "passes/Rule.h"

namespace origo {

/// x · cos + rotated(x) · sin → rope(x, sin, cos), where rotated(x) is the second half of x negated, then the first.
static Rule halves() {
  auto x = any(), sine = any(), cosine = any(), front = constant(), back = constant(), sizes = constant(),
       moreSizes = constant();
  auto half = op(Op::SLICE, {x, front, sizes}), otherHalf = op(Op::SLICE, {x, back, moreSizes});
  auto rotated = op(Op::CONCATENATION, {-otherHalf, half});
  return {"halves", "not x · cos + (−second half of x, first half) · sin", x * cosine + rotated * sine, [=](Match &m) {
            int32_t depth = m[x].lastDimension();
            if (!m[x].isFloat() || !m[x].isStatic() || m[x].rank() != 4 || depth % 2 != 0)
              return decline("not float of rank 4 with an even last dimension");
            std::optional<Integers> begin = m.integers(m[front]), second = m.integers(m[back]);
            if (!begin || !second || begin->size() != 4 || second->size() != 4)
              return decline("where the halves begin is not known");
            for (int axis = 0; axis < 4; ++axis)
              if (!begin->is(axis, 0) || !second->is(axis, axis == 3 ? depth / 2 : 0))
                return decline("not the two halves");
            llvm::SmallVector<int32_t, 4> expected(m[x].shape().begin(), m[x].shape().end());
            expected.back() /= 2;
            if (!m[half].isStatic() || !m[otherHalf].isStatic() ||
                m[half].shape() != llvm::ArrayRef<int32_t>(expected) ||
                m[otherHalf].shape() != llvm::ArrayRef<int32_t>(expected) || m.op(rotated).operandCount() != 2)
              return decline("not the two halves");
            int64_t axis = m.op(rotated).option("axis");
            if (axis != 3 && axis != -1)
              return decline("the halves are joined along another dimension");
            for (Tensor t : {m[sine], m[cosine]})
              if (!t.isStatic() || t.rank() != 4)
                return decline("sine and cosine are not of rank 4");
            if (!m[x].hasShapeOf(m.root().result()))
              return decline("x is broadcast");
            Expr rope = op(Op::ROPE, {x, sine, cosine});
            return m.replace(rope.with("mode", static_cast<int64_t>(circle::RoPEMode::GPT_NEOX)));
          }};
}

Pass RecogniseRope() {
  return {"recognise-rope",    "x * cos + concat(-second half of x, first half) * sin -> rope(x, sin, cos)",
          Phase::Recognise,    false,
          {{"fuse_rope", {}}}, {halves()}};
}

} // namespace origo
