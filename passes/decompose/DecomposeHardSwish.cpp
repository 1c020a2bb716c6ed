#include "passes/Rule.h"

namespace origo {

Pass DecomposeHardSwish() {
  auto x = any();
  Rule decompose("decompose", "not a hard_swish", hardSwish(x), [=](Match &m) {
    Expr sixth = fold(1.0 / Expr(6.0)); // rounded when it is written
    return m[x].isFloat() ? m.replace(x * (relu6(x + 3) * sixth)) : decline("not float");
  });
  return Pass{"decompose-hard-swish",
              "hard_swish(x) -> x * (relu6(x + 3) * 1/6), for back ends without it",
              Phase::Decompose,
              false,
              {{"decompose_hardswish", {}}},
              {decompose}}
      .mending();
}

} // namespace origo
