#include "passes/Linear.h"
#include "passes/Spelling.h"

#include <cmath>

namespace origo {

/// (a · b) · c → (a · c) · b for one number c, and (a · b) / c likewise, where a comes from a linear operator whose
/// weights take it.
static Rule throughProduct() {
  auto c = constant(), b = any();
  auto linear = anyWith(Trait::Linear).filter(constant()).once();
  auto once = anyOf({Op::TRANSPOSE, Op::RESHAPE}, {linear}).once(),
       twice = anyOf({Op::TRANSPOSE, Op::RESHAPE}, {once}).once();
  auto product = op(Op::BATCH_MATMUL, {linear | once | twice, b}).once();
  auto scaled = product * c | product / c;
  return {"through-product", "not a constant multiple of a product with a linear operator, each used once", scaled,
          [=](Match &m) {
            Tensor a = m.has(twice) ? m[twice] : m.has(once) ? m[once] : m[linear];
            if (!a.isFloat() || m[c].elementCount() != 1 || m[c].rank() > a.rank() || m[c].rank() > m[product].rank())
              return decline("the constant is not one number");
            return m.replace(clone(product).operand(0, cloneRoot().operand(m.positionOf(product), a)));
          }};
}

/// f(batch_to_space(x), c) → batch_to_space(f(x, c)) for one number a channel: what computes x may take it.
static Rule throughBlocks() {
  auto x = any(), c = constant(), block = any(), crops = any();
  auto moved = op(Op::BATCH_TO_SPACE_ND, {x, block, crops}).once();
  auto f = anyOf({Op::ADD, Op::MUL}, {moved, c}).mayActivate();
  return {"through-blocks", "not a constant added to or multiplied with what was a batch and is used once", f,
          [=](Match &m) {
            Tensor from = m[x];
            if (!from.isFloat() || from.rank() != 4 || !isPerChannel(m[c], m[moved], m[moved].lastDimension()) ||
                !m[f].hasShapeOf(m[moved]))
              return decline("the constant is not one number a channel of a float picture");
            Expr inner = clone(f).operand(m.positionOf(moved), x).as(m[f], from);
            return m.replace(clone(moved).operand(0, inner));
          }};
}

/// (a · c) . (b · d) → (a · cd) . b for numbers c and d, as attention scales queries and keys by the root of one.
static Rule ofBoth() {
  auto a = any(), b = any(), c = constant(), d = constant();
  auto left = (a * c).once(), right = (b * d).once(), moved = anyOf({Op::TRANSPOSE, Op::RESHAPE}, {right}).once();
  auto product = op(Op::BATCH_MATMUL, {left, right | moved});
  return {"of-both", "not a product of two constant multiples, each used once", product, [=](Match &m) {
            if (!m[a].isFloat() || !m[b].isFloat() || m[c].elementCount() != 1 || m[d].elementCount() != 1 ||
                m[c].rank() > m[a].rank() || m[d].rank() > m[b].rank())
              return decline("the constants are not one number each");
            auto isSound = [](float, float, float both) { return std::isnormal(both); };
            if (!m.everyOf(c * d, isSound))
              return decline("the numbers, or what they make, are not finite or not normal");
            Expr other = m.has(moved) ? clone(moved).operand(0, b) : b;
            Expr inner = a * fold(reshape(c * d, shapeOf(m[c])));
            return m.replace(clone(product).operand(0, inner).operand(1, other));
          }};
}

/// pool(linear(x)) · c → pool(linear(x) · c) for one number a channel, which the weights take, and a sum likewise; a
/// factor of a maximum is positive, and so are those that go through a RELU. A mean over a picture is a pool.
static Rule throughPool() {
  auto c = constant(), w = constant(), b = optionalConstant();
  auto linear = anyWith(Trait::Linear).filter(w).bias(b), free = linear.once(),
       rectified = linear.activation(Activation::RELU).mayActivate().once();
  auto axes = constant();
  auto average = op(Op::MEAN, {free | rectified, axes}).once();
  auto window = anyOf({Op::AVERAGE_POOL_2D, Op::MAX_POOL_2D}, {free | rectified}).once();
  auto f = anyOf({Op::MUL, Op::ADD}, {window | average, c}).mayActivate();
  return {"through-pool", "not a constant and what is pooled of a linear operator, each used once", f, [=](Match &m) {
            Expr inside = m.has(free) ? free : rectified, pooled = m.has(average) ? average : window;
            if (m.has(average)) {
              std::optional<Integers> over = m.integers(m[axes]);
              auto gone = over ? over->axesOf(m[inside].rank()) : std::nullopt;
              if (!gone || llvm::is_contained(*gone, m[inside].rank() - 1))
                return decline("a mean over the channels");
            }
            Tensor from = m[inside];
            if (!from.isFloat() || !isPerChannel(m[c], m[pooled], m[pooled].lastDimension()) ||
                !m[f].hasShapeOf(m[pooled]) || !m.every(m[c], isFiniteNumber) || !m.every(m[w], isFiniteNumber) ||
                (m[b] && !m.every(m[b], isFiniteNumber)))
              return decline("the constant is not one number a channel of a float picture, or one is not finite");
            bool multiplies = m.root().code() == Op::MUL;
            bool keeps = m.has(free) && (!multiplies || m.op(pooled).code() != Op::MAX_POOL_2D);
            if (!keeps && !(multiplies && m.every(m[c], [](double n) { return n > 0; })))
              return decline("a factor is not positive, or a summand comes behind an activation");
            Linear parts;
            if (const char *why = readLinear(m.op(inside), parts))
              return decline(why);
            if (multiplies && !m.everyOf(scaledFilter(parts, m[c]), keepsWeight))
              return decline("a scaled weight is not representable");
            Expr inner = clone(f).operand(m.positionOf(pooled), clone(inside)).activation(Activation::NONE).as(from);
            if (m.has(average) && m.root().activation() != Activation::NONE)
              return decline("a mean has no fused activation");
            Expr outer = clone(pooled).operand(0, inner);
            return m.replace(m.has(average) ? outer : outer.activation(m.root().activation()));
          }};
}

Pass ForwardScales() {
  return {"forward-scales",
          "(a . b) * c -> (a * c) . b where a is linear with constant weights, (a * c) . (b * d) -> (a * cd) . b, "
          "f(batch_to_space(x), c) -> batch_to_space(f(x, c)), and a factor or a summand through a pool or "
          "a mean",
          Phase::Layout,
          true,
          {},
          {throughProduct(), ofBoth(), throughBlocks(), throughPool()}};
}

} // namespace origo
