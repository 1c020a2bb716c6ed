#include "passes/Linear.h"
#include "passes/Spelling.h"

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

/// max_pool(relu(linear(x)) + c) → max_pool(relu(linear(x))) + c for one number a channel. Without the RELU, the bias
/// takes it.
static Rule summand() {
  auto c = constant();
  auto rectified = anyWith(Trait::Linear).mayActivate().once();
  auto sum = (rectified + c).once();
  auto pooled = op(Op::MAX_POOL_2D, {sum});
  return {"summand", "not the maxima of what is rectified and a constant, whose sum is used once", pooled,
          [=](Match &m) {
            if (m.op(rectified).activation() != Activation::RELU ||
                !isPerChannel(m[c], m[pooled], m[pooled].lastDimension()) || !m[rectified].hasShapeOf(m[sum]))
              return decline("not rectified, or the constant is not one number a channel");
            if (!m.every(m[c], isFiniteNumber))
              return decline("a number is not finite");
            unsigned at = m.op(sum).operand(0) == m[rectified] ? 0 : 1;
            return m.replace(clone(sum).operand(at, clone(pooled).operand(0, clone(rectified))).as(m[pooled]));
          }};
}

Pass PoolBeforeActivation() {
  return {"pool-before-activation",
          "max_pool(f(x)) -> f(max_pool(x)) where f does not decrease and is not fused, max_pool(relu(linear(x)) + c) "
          "-> max_pool(relu(linear(x))) + c",
          Phase::Layout,
          true,
          {},
          {maximum(), summand()}};
}

} // namespace origo
