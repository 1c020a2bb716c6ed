#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// fc(x, W, b) + fc(x, V, c) → fc(x, W + V, b + c)
static Rule sum() {
  auto x = any();
  auto one = op(Op::FULLY_CONNECTED, {x}).once(), other = op(Op::FULLY_CONNECTED, {x}).once();
  auto sum = (one + other).mayActivate();
  return {"sum", "not the sum of two fully connected operators of the same operand, each used once", sum,
          [=](Match &m) {
            Linear first, second;
            for (auto [linear, parts] : {std::pair(one, &first), std::pair(other, &second)})
              if (const char *why = readLinear(m.op(linear), *parts))
                return decline(why);
            if (m.op(one).option("keep_num_dims") != m.op(other).option("keep_num_dims") ||
                !first.filter.hasShapeOf(second.filter) || !m[one].hasShapeOf(m[other]))
              return decline("the two differ in shape");
            if (first.filter.isShared() || second.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            auto isFinite = [](float, float, float result) { return std::isfinite(result); };
            Expr filter = first.filter + second.filter;
            if (!m.everyOf(filter, isFinite))
              return decline("a sum of weights is not representable");
            Expr fused = clone({one, other}).filter(fold(filter)).activation(m.root().activation());
            if (!first.bias && !second.bias)
              return m.replace(fused);
            if (!first.bias || !second.bias)
              return m.replace(fused.bias(first.bias ? first.bias : second.bias));
            Expr bias = first.bias + second.bias;
            if (!m.everyOf(bias, isFinite))
              return decline("a sum of biases is not representable");
            return m.replace(fused.bias(fold(bias)));
          }};
}

Pass FuseHorizontalFullyConnected() {
  return {"fuse-horizontal-fully-connected",
          "fc(x, W, b) + fc(x, V, c) -> fc(x, W+V, b+c)",
          Phase::Fuse,
          true,
          {{"fuse_horizontal_fc_layers", {}}},
          {sum()}};
}

} // namespace origo
