#include "passes/Spelling.h"

namespace origo {

/// `count` reshapes and transposes in a row → as few as do the same: reshape, transpose, reshape at most, to which
/// longer rows come four by four.
static Rule inARow(llvm::StringLiteral name, unsigned count) {
  constexpr Op codes[] = {Op::TRANSPOSE, Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS};
  auto x = any();
  Expr moved = x;
  for (unsigned i = 0; i + 1 < count; ++i)
    moved = anyOf(codes, {moved}).once();
  moved = anyOf(codes, {moved});
  return {name, "not so many movements in a row, each used once", moved, [=](Match &m) {
            Tensor result = m.root().result();
            std::optional<Moves> moves = m.moves(m[x], result);
            if (!moves || !m[x].isStatic() || !storesAlike(m[x], result))
              return decline("the shapes are not known before run time, or it is quantised by channel");
            Moves there = moves->inverse(); // whose result has the parts in the order of x
            llvm::SmallVector<int32_t, 8> parts = there.moved(), joined = moves->moved();
            auto is = [](Tensor t, llvm::ArrayRef<int32_t> shape) { return t.shape() == shape; };
            unsigned needed = (is(m[x], parts) ? 0 : 1) + (is(result, joined) ? 0 : 1) + 1;
            if (moves->keepsOrder() || needed >= count || parts.size() > 5)
              return decline("no fewer would do, or only of more than five dimensions");
            Expr inner = is(m[x], parts) ? x : reshape(x, list(parts));
            Expr turned = transpose(inner, list(there.back()));
            return m.replace(is(result, joined) ? turned : reshape(turned, shapeOf(result)));
          }};
}

Pass MergeMovements() {
  return {"merge-movements",
          "transpose(reshape(transpose(reshape(x)))) and the like -> reshape(transpose(reshape(x))), or fewer",
          Phase::Fuse,
          true,
          {},
          {inARow("four", 4), inARow("three", 3)}};
}

} // namespace origo
