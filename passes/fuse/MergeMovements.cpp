#include "passes/Respelled.h"
#include "passes/Spelling.h"

namespace origo {

/// `count` reshapes and transposes in a row → as few as do the same: reshape, transpose, reshape at most, to which
/// longer rows come four by four. Which parts the first reshape makes is free: those of the source, those of the
/// result, or as few as there are.
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
            std::optional<Respelled> best;
            unsigned needed = count;
            for (const auto &spelled :
                 {respelled(*moves, moves->moved(), true), respelled(*moves, result.shape(), true),
                  respelled(*moves, m[x].shape(), false)})
              if (spelled && spelled->parts.size() <= 5 && spelled->countBetween(m[x], result) < needed) {
                best = spelled;
                needed = spelled->countBetween(m[x], result);
              }
            if (moves->keepsOrder() || !best)
              return decline("no fewer would do, or only of more than five dimensions");
            Expr turned = best->of(m[x]);
            bool fits = result.shape() == llvm::ArrayRef<int32_t>(best->joined);
            return m.replace(fits ? turned : reshape(turned, shapeOf(result)));
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
