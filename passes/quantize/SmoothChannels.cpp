#include "passes/Balance.h"

#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// s = reach^α / max|V|^(1 − α): so much of what makes a channel in between hard to store goes into the filter that
/// reads it (Xiao et al., SmoothQuant, 2022).
static std::optional<Expr> smooth(Match &m, Expr, Expr v) {
  std::optional<Expr> reach = m.reach();
  if (!reach)
    return std::nullopt;
  Expr s = pow(*reach, m.migration()) / pow(v, 1 - m.migration());
  return op(Op::SELECT_V2, {op(Op::GREATER, {minimum(*reach, v), 1e-12}), s, 1.0});
}

/// linear(x · s, V) → linear(x, V · s), for the other readers of what was divided.
static Rule takeBack() {
  auto x = any(), s = constant();
  auto product = x * s;
  auto second = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {product}).mayActivate();
  return {"take-back", "not a linear operator of a product", second, [=](Match &m) {
            Linear linear;
            if (const char *why = readLinear(m.root(), linear))
              return decline(why);
            if (!m.op(product).isSynthetic())
              return decline("the product was there before");
            if (linear.filter.isShared())
              return decline("a filter has other users, for whom it would have to stay");
            if (!m[x].isFloat() || m[s].rank() != 1 || !m[x].hasShapeOf(m.root().operand(0)) ||
                m[s].elementCount() != linear.filter.lastDimension())
              return decline("the filter has other channels");
            auto isFinite = [](float, float, float product) { return std::isfinite(product); };
            Expr filter = linear.filter * m[s];
            if (!m.everyOf(filter, isFinite))
              return decline("a filter is not finite, or the ranges are too far apart");
            return m.replace(clone(second).operand(0, x).filter(fold(filter)));
          }};
}

Pass SmoothChannels() {
  return {"smooth-channels",
          "g(relu(f(x, W, b)), V) -> g(relu(f(x, W/s, b/s)), V*s), s = reach^a / max|V|^(1-a) by channel, where "
          "records tell how far each channel goes; V of all that read it; f may be what a norm ends in, x * W + b or "
          "x * W",
          Phase::Quantize,
          false,
          {},
          // What was divided is taken back before it is taken for what a norm ends in.
          {takeBack(), balancedChannels(smooth, true), balancedForAll(smooth)}};
}

} // namespace origo
