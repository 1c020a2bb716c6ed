#include "passes/Rule.h"

namespace origo {

/// f(linear(y), c) → f(linear(y), d), where c is d repeated along dimensions of the result, so that the weights may
/// take it; and the slope of a PRELU likewise.
static Rule repeated() {
  auto c = constant(), x = any();
  auto linear = anyWith(Trait::Linear).mayActivate();
  auto f = anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {linear, c}).mayActivate();
  auto less = op(Op::SUB, {c, linear}).mayActivate(), slope = op(Op::PRELU, {x, c});
  return {"repeated", "no linear operator and a constant, and no slope", f | less | slope, [=](Match &m) {
            Tensor from = m.has(slope) ? m[x] : m[linear], result = m.root().result();
            if (!m[c].isFloat() || from.isConstant() || !from.isStatic() || !from.hasShapeOf(result) ||
                m[c].elementCount() == 1 || m[c].rank() > from.rank())
              return decline("not float, one number, broadcast, or the shapes are not known before run time");
            llvm::SmallVector<int32_t, 6> once = m.shapeOnce(m[c]);
            if (m[c].shape() == llvm::ArrayRef<int32_t>(once))
              return decline("nothing is repeated");
            std::vector<int32_t> begin(once.size(), 0);
            return m.replace(cloneRoot().operand(m.positionOf(c), fold(op(Op::SLICE, {c, list(begin), list(once)}))));
          }};
}

Pass ShrinkConstants() {
  return {"shrink-constants",
          "linear(x) + c, linear(x) * c, prelu(x, c) -> the same with c once, which was repeated along dimensions",
          Phase::Fuse,
          true,
          {},
          {repeated()}};
}

} // namespace origo
