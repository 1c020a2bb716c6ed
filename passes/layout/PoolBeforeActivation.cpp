#include "passes/Rule.h"

namespace origo {

/// max_pool(f(x)) → f(max_pool(x)), of fewer elements, where f does not decrease.
static Rule maximum() {
  auto x = any();
  auto f = anyOf({Op::LEAKY_RELU, Op::TANH, Op::LOGISTIC, Op::ELU, Op::EXP}, {x}).once();
  auto pooled = op(Op::MAX_POOL_2D, {f});
  return {"maximum", "not the maxima of what does not decrease and is used once", pooled, [=](Match &m) {
            if (!m[x].isFloat() || !m[pooled].isFloat())
              return decline("not float");
            if (m.op(f).code() == Op::LEAKY_RELU && !(m.op(f).realOption("alpha") >= 0))
              return decline("the slope is negative");
            return m.replace(clone(f).operand(0, clone(pooled).operand(0, x)));
          }};
}

Pass PoolBeforeActivation() {
  return {"pool-before-activation",
          "max_pool(f(x)) -> f(max_pool(x)) where f does not decrease and is not fused",
          Phase::Layout,
          true,
          {},
          {maximum()}};
}

} // namespace origo
