#include "passes/layout/Forward.h"

namespace origo {

/// unary(reshape(x)) → reshape(unary(x))
static Rule forward() {
  auto x = any();
  auto moved = anyOf(reshapes, {x}).once();
  auto unary = anyWith(Trait::Unary, {moved});
  return {"forward", "the operand is not the result of a reshape with this use only", unary, [=](Match &m) {
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            return m.replace(clone(moved).operand(0, clone(unary).operand(0, x).as(m[unary], m[x])));
          }};
}

/// f(reshape(x), number) → reshape(f(x, number))
static Rule withNumber() {
  auto x = any(), c = constant();
  auto moved = anyOf(reshapes, {x}).once();
  auto f = anyWith(Trait::Binary, {moved, c}).mayActivate() | anyWith(Trait::Binary, {c, moved}).mayActivate();
  return {"number", "the operands are not one number and the result of a reshape with this use only", f, [=](Match &m) {
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            if (m[c].elementCount() != 1 || m[c].rank() > m[x].rank())
              return decline("the constant is not one number");
            Expr inner = cloneRoot().operand(m.positionOf(moved), x).as(m.root().result(), m[x]);
            return m.replace(clone(moved).operand(0, inner));
          }};
}

Pass ForwardReshapes() {
  return {"forward-reshapes",
          "unary(reshape(x)) -> reshape(unary(x)), f(reshape(x), number) -> reshape(f(x, number))",
          Phase::Layout,
          true,
          {{"forward_reshape_to_unaryop", {}}},
          {forward(), withNumber()}};
}

} // namespace origo
