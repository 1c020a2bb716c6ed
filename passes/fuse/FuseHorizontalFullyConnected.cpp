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

/// concat(fc(x, W, b), fc(x, V, c), …) along the last dimension → fc(x, concat(W, V), concat(b, c))
static Rule joined() {
  auto x = any();
  auto linear = op(Op::FULLY_CONNECTED, {x}).once().mayActivate();
  auto joined = op(Op::CONCATENATION, {}).each(linear);
  return {"joined", "an operand is not a fully connected operator with this use only", joined, [=](Match &m) {
            JoinedLinear parts;
            if (const char *why = readJoined(m, linear, x, false, parts))
              return decline(why);
            auto all = [](const std::vector<Expr> &each) { return fold(op(Op::CONCATENATION, each).with("axis", 0)); };
            Node like = m.op(0, linear);
            Expr whole = op(Op::FULLY_CONNECTED, {m.at(0, x), all(parts.filters)});
            whole = parts.biases.empty() ? whole : whole.bias(all(parts.biases));
            return m.replace(whole.with("keep_num_dims", like.option("keep_num_dims")).activation(like.activation()));
          }};
}

Pass FuseHorizontalFullyConnected() {
  return {
      "fuse-horizontal-fully-connected",
      "fc(x, W, b) + fc(x, V, c) -> fc(x, W+V, b+c), concat(fc(x, W, b), fc(x, V, c)) -> fc(x, concat(W, V), concat(b, "
      "c))",
      Phase::Fuse,
      true,
      {{"fuse_horizontal_fc_layers", {{Op::ADD, {}}}}},
      {sum(), joined()}};
}

} // namespace origo
