#include "passes/Respelled.h"

namespace origo {

/// Matrices as movements leave them, in a batch of other dimensions, which these can as well give: a reshape that goes
/// into them. None: they cannot.
static std::optional<Expr> inBatch(Match &m, Tensor x, const std::vector<Expr> &row, Tensor matrices,
                                   llvm::ArrayRef<int32_t> batch) {
  if (!x.isFloat() || !x.isStatic() || !matrices.isStatic() || matrices.rank() < 3 || !matrices.hasOneUse())
    return std::nullopt;
  llvm::SmallVector<int32_t, 6> shape(batch);
  llvm::append_range(shape, matrices.shape().take_back(2));
  std::optional<Moves> moves = m.moves(x, matrices);
  if (!moves || moves->keepsOrder() || shape.size() > 4 || !respelled(*moves, shape, true))
    return std::nullopt;
  return reshape(rebuilt(m, row, x), list(shape)).synthetic(SyntheticReason::LayoutBridge);
}

static bool sameBatch(Tensor a, Tensor b) { return a.shape().drop_back(2) == b.shape().drop_back(2); }
static bool sameMatrices(Tensor a, Tensor b) { return a.shape().take_back(2) == b.shape().take_back(2); }

/// reshape(batch_matmul(moved(x), moved(y))) → batch_matmul(moved(x), moved(y)), moved to the batch that it is to have
static Rule result() {
  auto x = any(), y = any();
  auto one = movements(x, 5), other = movements(y, 5);
  auto product = op(Op::BATCH_MATMUL, {longest(one, 2), longest(other, 2)}).once();
  auto shaped = anyOf(reshapes, {product});
  return {"result", "not a reshape of a product of what is moved", shaped, [=](Match &m) {
            Tensor left = m.op(product).operand(0), right = m.op(product).operand(1);
            if (!m[product].isStatic() || !m[shaped].isStatic() || m[shaped].rank() < 3 ||
                !sameMatrices(m[product], m[shaped]) || !left.isStatic() || !right.isStatic() ||
                !sameBatch(left, right))
              return decline("the shapes are not known before run time, or more than the batch is reshaped");
            auto batch = m[shaped].shape().drop_back(2);
            std::optional<Expr> a = inBatch(m, m[x], one, left, batch), b = inBatch(m, m[y], other, right, batch);
            if (!a || !b)
              return decline("an operand has other users, or is not moved to such a batch");
            return m.replace(clone(product).operand(0, *a).operand(1, *b));
          }};
}

/// batch_matmul(reshape(a), moved(y)) → reshape(batch_matmul(a, moved(y))), moved to the batch of a, and mirrored
static Rule operand(llvm::StringLiteral name, unsigned side) {
  auto a = any(), y = any(), shaped = anyOf(reshapes, {a});
  auto row = movements(y, 5);
  auto moved = longest(row, 2);
  auto product = op(Op::BATCH_MATMUL, side == 0 ? std::vector{shaped, moved} : std::vector{moved, shaped});
  return {name, "not a product of a reshape and of what is moved", product, [=](Match &m) {
            Tensor other = m.root().operand(1 - side);
            if (!m[a].isFloat() || !m[a].isStatic() || !m[shaped].isStatic() || !m[product].isStatic() ||
                m[a].rank() < 3 || !other.isStatic() || !sameMatrices(m[a], m[shaped]) || !sameBatch(m[shaped], other))
              return decline("the shapes are not known before run time, or more than the batch is reshaped");
            if (m.movementsInARow(m[a]) > 0)
              return decline("the reshape goes into what moves its operand");
            std::optional<Expr> b = inBatch(m, m[y], row, other, m[a].shape().drop_back(2));
            if (!b)
              return decline("an operand has other users, or is not moved to such a batch");
            return m.replace(reshape(clone(product).operand(side, a).operand(1 - side, *b), shapeOf(m[product])));
          }};
}

Pass SplitHeads() {
  return {"split-heads",
          "reshape(moved(x) . moved(y)) -> moved(x) . moved(y), reshape(a) . moved(y) -> reshape(a . moved(y)), where "
          "the movements can as well give the batch that the reshape makes or takes",
          Phase::Layout,
          true,
          {},
          {result(), operand("left", 0), operand("right", 1)}};
}

} // namespace origo
