#include "passes/Balance.h"

namespace origo {

/// s = reach^α / max|V|^(1 − α): so much of what makes a channel in between hard to store goes into the filter that reads it
/// (Xiao et al., SmoothQuant, 2022).
static Rule smooth() {
  return balancedChannels([](Match &m, Expr, Expr v) -> std::optional<Expr> {
    std::optional<Expr> reach = m.reach();
    if (!reach)
      return std::nullopt;
    Expr s = pow(*reach, m.migration()) / pow(v, 1 - m.migration());
    return op(Op::SELECT_V2, {op(Op::GREATER, {minimum(*reach, v), 1e-12}), s, 1.0});
  });
}

Pass SmoothChannels() {
  return {"smooth-channels",
          "g(relu(f(x, W, b)), V) -> g(relu(f(x, W/s, b/s)), V*s), s = reach^a / max|V|^(1-a) by channel, where records tell "
          "how far each channel goes",
          Phase::Quantize,
          false,
          {},
          {smooth()}};
}

} // namespace origo
