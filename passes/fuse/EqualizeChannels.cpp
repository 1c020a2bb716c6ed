#include "passes/Balance.h"

namespace origo {

/// s = √(max|W| / max|V|): then both filters need the same range (Nagel et al., Data-Free Quantization, 2019). A
/// channel that is nothing but zero, or lost among the others, stays. So do norms: one number a channel needs no range
/// as a filter does, and how far the channel goes only records tell, which smooth-channels asks.
static Rule balance() {
  return balancedChannels([](Match &, Expr w, Expr v) -> std::optional<Expr> {
    return op(Op::SELECT_V2, {op(Op::GREATER, {minimum(w, v), 1e-12}), sqrt(w / v), 1.0});
  });
}

Pass EqualizeChannels() {
  return {"equalize-channels",
          "g(relu(f(x, W, b)), V) -> g(relu(f(x, W/s, b/s)), V*s), s = sqrt(max|W| / max|V|) by channel; relu6 becomes "
          "min(relu, 6/s); f is no norm, whose reach only records tell",
          Phase::Fuse,
          false,
          {},
          {balance()}};
}

} // namespace origo
