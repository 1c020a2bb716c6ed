#include "passes/Rule.h"

namespace origo {

/// It exchanges the last two dimensions, and leaves the others where they are.
static bool swapsLastTwo(Match &m, Tensor permutation, int rank) {
  std::optional<Integers> order = m.integers(permutation);
  if (!order || rank < 2 || !order->isPermutation(static_cast<size_t>(rank)))
    return false;
  for (int i = 0; i < rank; ++i)
    if (!order->is(i, i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2))
      return false;
  return true;
}

/// batch_matmul(transpose(a), b) → batch_matmul(a, b) with the adjoint of a, and of b likewise
static Rule operand(llvm::StringLiteral name, unsigned side, llvm::StringLiteral option) {
  auto x = any(), p = constant(), other = any();
  auto moved = transpose(x, p);
  auto product = op(Op::BATCH_MATMUL, side == 0 ? std::vector{moved, other} : std::vector{other, moved});
  return {name, "this operand is not transposed", product, [=](Match &m) {
            if (!m[x].isFloat() || !m[product].isFloat())
              return decline("not float");
            if (!swapsLastTwo(m, m[p], m[x].rank()))
              return decline("other dimensions than the last two are exchanged");
            return m.replace(clone(product).operand(side, x).with(option, m.op(product).option(option) == 0));
          }};
}

/// (a · b)ᵀ → bᵀ · aᵀ
static Rule result() {
  auto a = any(), b = any(), p = constant();
  auto product = op(Op::BATCH_MATMUL, {a, b}).once();
  auto moved = transpose(product, p);
  return {"result", "not a transposed product that is used once", moved, [=](Match &m) {
            if (!m[a].isFloat() || !m[product].isFloat())
              return decline("not float");
            if (!swapsLastTwo(m, m[p], m[product].rank()))
              return decline("other dimensions than the last two are exchanged");
            Node at = m.op(product);
            return m.replace(clone(product)
                                 .operand(0, b)
                                 .operand(1, a)
                                 .with("adjoint_lhs", at.option("adjoint_rhs") == 0)
                                 .with("adjoint_rhs", at.option("adjoint_lhs") == 0));
          }};
}

Pass MergeTransposesIntoProducts() {
  return {"merge-transposes-into-products",
          "transpose(a) . b -> a . b with the adjoint of a, transpose(a . b) -> transpose(b) . transpose(a)",
          Phase::Layout,
          true,
          {},
          {operand("left", 0, "adjoint_lhs"), operand("right", 1, "adjoint_rhs"), result()}};
}

} // namespace origo
