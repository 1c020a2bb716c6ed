#include "passes/Attributes.h"

namespace origo {

/// CUSTOM "BatchMatMulV2"(x, y) → batch_matmul(x, y)
static Rule resolve() {
  auto x = any(), y = any();
  auto product = custom("BatchMatMulV2", {x, y});
  return {"batch-mat-mul", "not a custom BatchMatMulV2", product, [=](Match &m) {
            if (!m[x].isFloat() || !m[y].isFloat())
              return decline("not float");
            std::optional<flexbuffers::Map> attributes = attributesOf(m.op(product));
            if (!attributes)
              return decline("its attributes cannot be read");
            Expr resolved = op(Op::BATCH_MATMUL, {x, y}).with("adjoint_lhs", (*attributes)["adj_x"].AsBool());
            return m.replace(resolved.with("adjoint_rhs", (*attributes)["adj_y"].AsBool()));
          }};
}

Pass ResolveCustomBatchMatMul() {
  return {"resolve-custom-batch-mat-mul",
          "custom BatchMatMulV2(x, y) -> batch_matmul(x, y)",
          Phase::Decompose,
          true,
          {{"resolve_customop_batchmatmul", {}}},
          {resolve()}};
}

} // namespace origo
