#include "passes/Rule.h"

namespace origo {

/// softmax(x) → e / sum(e), e = exp(β · (x − max(x))), along the last dimension.
static Rule decompose() {
  auto x = any();
  auto soft = op(Op::SOFTMAX, {x});
  return {"decompose", "not a softmax", soft, [=](Match &m) {
            if (!m[x].isFloat() || m[x].rank() == 0)
              return decline("not float, or without a dimension to go along");
            double beta = m.op(soft).realOption("beta");
            Expr last = list({m[x].rank() - 1});
            Expr below = x - op(Op::REDUCE_MAX, {x, last}).with("keep_dims", 1);
            Expr power = op(Op::EXP, {beta == 1 ? below : below * beta});
            return m.replace(power / op(Op::SUM, {power, last}).with("keep_dims", 1));
          }};
}

Pass DecomposeSoftmax() {
  return Pass{"decompose-softmax",
              "softmax(x) -> e / sum(e), e = exp(beta * (x - max(x))), for back ends without it",
              Phase::Decompose,
              false,
              {{"decompose_softmax", {}}},
              {decompose()}}
      .about("The maximum is taken off first, so that no exponential overflows: as the operator itself does. "
             "`beta` is multiplied in unless it is one.");
}

} // namespace origo
