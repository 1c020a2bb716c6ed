#include "passes/Rule.h"

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

Pass UseFullyConnected() {
  return {"use-fully-connected",
          "batch_matmul(x, W) -> fc(x, transpose(W)) for one constant matrix W",
          Phase::Fuse,
          true,
          {},
          {byConstant()}};
}

} // namespace origo
