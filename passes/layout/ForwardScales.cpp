#include "passes/Linear.h"
#include "passes/Spelling.h"

namespace origo {

/// (a · b) · c → (c · a) · b for one number c, where a comes from a linear operator whose weights take it.
static Rule throughProduct() {
  auto c = constant(), b = any();
  auto linear = anyWith(Trait::Linear).filter(constant()).once();
  auto once = anyOf({Op::TRANSPOSE, Op::RESHAPE}, {linear}).once(),
       twice = anyOf({Op::TRANSPOSE, Op::RESHAPE}, {once}).once();
  auto product = op(Op::BATCH_MATMUL, {linear | once | twice, b}).once();
  auto scaled = product * c;
  return {"through-product", "not a constant multiple of a product with a linear operator, each used once", scaled,
          [=](Match &m) {
            Tensor a = m.has(twice) ? m[twice] : m.has(once) ? m[once] : m[linear];
            if (!a.isFloat() || m[c].elementCount() != 1 || m[c].rank() > a.rank() || m[c].rank() > m[product].rank())
              return decline("the constant is not one number");
            return m.replace(clone(product).operand(0, clone(scaled).operand(m.positionOf(product), a)));
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

Pass ForwardScales() {
  return {"forward-scales",
          "(a . b) * c -> (a * c) . b where a is linear with constant weights, f(batch_to_space(x), c) -> "
          "batch_to_space(f(x, c))",
          Phase::Layout,
          true,
          {},
          {throughProduct(), throughBlocks()}};
}

} // namespace origo
