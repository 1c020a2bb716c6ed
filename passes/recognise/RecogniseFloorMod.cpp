#include "passes/Rule.h"

namespace origo {

/// x − floor_div(x, n) · n → floor_mod(x, n)
static Rule remainder() {
  auto x = any(), n = any();
  return {"remainder", "not x less a multiple of its quotient", x - op(Op::FLOOR_DIV, {x, n}) * n, [=](Match &m) {
            if (m[x].type() != TensorType::INT32 && m[x].type() != TensorType::INT64)
              return decline("not integers: floats round the product");
            return m.replace(op(Op::FLOOR_MOD, {x, n}));
          }};
}

Pass RecogniseFloorMod() {
  return {"recognise-floor-mod", "x - floor_div(x, n) * n -> floor_mod(x, n) for integers", Phase::Recognise, true, {},
          {remainder()}};
}

} // namespace origo
