#include "passes/Spelling.h"

namespace origo {

/// batch_matmul(x, W) → fc(x, Wᵀ) for one constant matrix.
static Rule byConstant() {
  auto x = any(), matrix = constant();
  auto product = op(Op::BATCH_MATMUL, {x, matrix});
  return {"constant", "the second operand is not constant", product, [=](Match &m) {
            Tensor w = m[matrix];
            if (!m[x].isFloat() || !w.isFloat() || !m[product].isFloat() || w.rank() < 2 || m[x].rank() < 2)
              return decline("not float matrices");
            if (w.shape().drop_back(2).size() != static_cast<size_t>(llvm::count(w.shape().drop_back(2), 1)) ||
                w.rank() > m[x].rank())
              return decline("a matrix for each of the batch");
            bool turned = m.op(product).option("adjoint_rhs");
            if (m.op(product).option("adjoint_lhs"))
              return decline("the other operand is taken transposed");
            if (!turned && w.isShared())
              return decline("the matrix has other users, for whom it would have to stay");
            Expr flat = w.rank() == 2 ? Expr(matrix) : reshape(matrix, list(w.shape().take_back(2)));
            Expr filter = turned ? flat : transpose(flat, list({1, 0}));
            return m.replace(op(Op::FULLY_CONNECTED, {x, turned && w.rank() == 2 ? filter : fold(filter)})
                                 .with("keep_num_dims", m[x].rank() != 2));
          }};
}

/// batch_matmul(W, moved(x)) → transpose(fc(x, W)) for one constant matrix, where the movements make a column of each
/// row of x.
static Rule byConstantFromLeft() {
  auto x = any(), matrix = constant(), moved = movedFrom(x, 1, 3);
  auto product = op(Op::BATCH_MATMUL, {matrix, moved});
  return {"constant-from-left", "the first operand is not constant, or the second is not moved", product,
          [=](Match &m) {
            Tensor w = m[matrix], columns = m.root().operand(1);
            if (!m[x].isFloat() || !w.isFloat() || !m[product].isFloat() || w.rank() != 2 || columns.rank() != 2 ||
                !m[x].isStatic() || !columns.isStatic() || !columns.hasOneUse())
              return decline("not float matrices of known shape, or others use what is moved");
            Node at = m.op(product);
            if (at.option("adjoint_lhs") || at.option("adjoint_rhs"))
              return decline("an operand is taken transposed");
            int32_t depth = columns.shape()[0], rows = columns.shape()[1];
            int64_t sizes[] = {rows, depth};
            unsigned order[] = {1, 0};
            std::optional<Moves> moves = m.moves(m[x], columns);
            if (m[x].lastDimension() != depth || m[x].rank() < 2 || !moves || !(*moves == Moves(sizes, order)) ||
                moves->keepsOrder())
              return decline("the columns are not the rows of what is moved");
            return m.replace(transpose(op(Op::FULLY_CONNECTED, {x, matrix}), list({1, 0})));
          }};
}

/// sum(x · w) along the last axis, which is kept → fc(x, w) for one constant row
static Rule byRow() {
  auto x = any(), row = constant(), axes = constant();
  auto product = (x * row).once();
  auto sum = op(Op::SUM, {product, axes}).with("keep_dims", 1);
  return {"row", "not the sum of a constant multiple that is used once", sum, [=](Match &m) {
            std::optional<Integers> over = m.integers(m[axes]);
            if (!m[x].isFloat() || !over || !over->isLastAxisOf(m[x].rank()) || m[x].rank() < 2 ||
                !m[x].hasShapeOf(m[product]))
              return decline("not float, not along the last axis, or x is broadcast");
            int32_t size = m[x].lastDimension();
            if (m[row].elementCount() != size || m[row].lastDimension() != size || m[row].isShared())
              return decline("not a row of factors that nobody else uses");
            Expr filter = m[row].rank() == 2 ? Expr(row) : fold(reshape(row, list({1, size})));
            return m.replace(op(Op::FULLY_CONNECTED, {x, filter}).with("keep_num_dims", m[x].rank() != 2));
          }};
}

Pass UseFullyConnected() {
  return {"use-fully-connected",
          "batch_matmul(x, W) -> fc(x, transpose(W)), batch_matmul(W, transpose(x)) -> transpose(fc(x, W)) for one "
          "constant matrix W, sum(x * w) along the last axis -> fc(x, w) for one constant row w",
          Phase::Fuse,
          true,
          {},
          {byConstant(), byConstantFromLeft(), byRow()}};
}

} // namespace origo
