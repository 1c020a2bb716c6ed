#include "passes/layout/Forward.h"

namespace origo {

/// unary(transpose(x, p)) → transpose(unary(x), p)
static Rule unary() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p).once();
  auto f = anyWith(Trait::Unary, {moved});
  return {"unary", "the operand is not the result of a transpose with this use only", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].shape().size()))
              return decline("the permutation is not one");
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            return m.replace(clone(moved).operand(0, clone(f).operand(0, x).as(m[f], m[x])));
          }};
}

/// f(transpose(x, p), transpose(y, p)) → transpose(f(x, y), p)
static Rule both() {
  auto x = any(), y = any(), p = constant(), q = constant();
  auto a = transpose(x, p).once(), b = transpose(y, q).once();
  auto f = anyWith(Trait::Binary, {a, b}).mayActivate();
  return {"both", "an operand is not the result of a transpose with this use only", f, [=](Match &m) {
            std::optional<Integers> first = m.integers(m[p]), second = m.integers(m[q]);
            if (!first || !second || !(*first == *second))
              return decline("the operands are transposed in different ways");
            if (!first->isPermutation(m[x].shape().size()))
              return decline("the permutation is not one");
            bool isWhole = m[a].hasShapeOf(m[f]); // else it is broadcast
            const char *why = isWhole ? movementRefusal(m, m[y], m[b]) : movementRefusal(m, m[x], m[a]);
            if (!why)
              why = isWhole ? forwardRefusal(m, m[x], m[a]) : forwardRefusal(m, m[y], m[b]);
            if (why)
              return decline(why);
            Expr inner = clone(f).operand(m.positionOf(a), x).operand(m.positionOf(b), y);
            inner = inner.as(m[f], isWhole ? m[x] : m[y]);
            return m.replace(clone({a, b}).operand(0, inner));
          }};
}

/// Moves the elements of a constant so that transposing them gives them back: its rank is filled up with ones in front.
static Expr transposedBack(Tensor c, const Integers &permutation, size_t rank) {
  llvm::SmallVector<int32_t, 6> full(rank - c.shape().size(), 1);
  full.append(c.shape().begin(), c.shape().end());
  Integers back = permutation.inverse();
  if (back.keepsOrderOf(full))
    return fold(reshape(c, back.permuted(full)));
  return fold(transpose(c.shape().size() == rank ? Expr(c) : reshape(c, list(full)), back));
}

/// f(transpose(x, p), c) → transpose(f(x, c transposed back), p)
static Rule withConstant() {
  auto x = any(), p = constant(), c = constant();
  auto a = transpose(x, p).once();
  auto f = anyWith(Trait::Binary, {a, c}).mayActivate() | anyWith(Trait::Binary, {c, a}).mayActivate();
  return {"constant", "an operand is neither constant nor the result of a transpose with this use only", f,
          [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            size_t rank = m[a].shape().size();
            if (!permutation || !permutation->isPermutation(rank))
              return decline("the permutation is not one");
            if (const char *why = forwardRefusal(m, m[x], m[a]))
              return decline(why);
            if (m[c].rank() > m[a].rank() || !m[c].isPerTensor())
              return decline("the constant is of a higher rank, not dense, or quantised by channel");
            bool one = m[c].elementCount() == 1;
            if (!one && !m[c].hasOneUse())
              return decline("the constant has other users, for whom it would have to stay");
            Expr moved = one ? c : transposedBack(m[c], *permutation, rank);
            Tensor result = m.root().result();
            Expr inner = cloneRoot().operand(m.positionOf(a), x).operand(m.positionOf(c), moved).as(result, m[x]);
            return m.replace(clone(a).operand(0, inner));
          }};
}

Pass ForwardTransposes() {
  return {"forward-transposes",
          "f(transpose(x, p), transpose(y, p) or a constant) -> transpose(f(x, y), p) for elementwise f",
          Phase::Layout,
          true,
          {{"forward_transpose_op", {}}},
          {unary(), both(), withConstant()}};
}

} // namespace origo
