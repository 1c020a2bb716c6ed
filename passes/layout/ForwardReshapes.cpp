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

Pass ForwardReshapes() {
  return {"forward-reshapes",
          "unary(reshape(x)) -> reshape(unary(x))",
          Phase::Layout,
          true,
          {{"forward_reshape_to_unaryop", {}}},
          {forward()}};
}

} // namespace origo
