#include "passes/Attributes.h"

namespace origo {

/// CUSTOM "MatMul"(x, y) → batch_matmul(x, y)
static Rule resolve() {
  auto x = any(), y = any();
  auto product = custom("MatMul", {x, y});
  return {"mat-mul", "not a custom MatMul", product, [=](Match &m) {
            if (!m[x].isFloat() || !m[y].isFloat() || m[x].rank() != 2 || m[y].rank() != 2)
              return decline("not two float matrices");
            std::optional<flexbuffers::Map> attributes = attributesOf(m.op(product));
            if (!attributes)
              return decline("its attributes cannot be read");
            Expr resolved = op(Op::BATCH_MATMUL, {x, y}).with("adjoint_lhs", (*attributes)["transpose_a"].AsBool());
            return m.replace(resolved.with("adjoint_rhs", (*attributes)["transpose_b"].AsBool()));
          }};
}

Pass ResolveCustomMatMul() {
  return {"resolve-custom-mat-mul",
          "custom MatMul(x, y) -> batch_matmul(x, y)",
          Phase::Decompose,
          true,
          {{"resolve_customop_matmul", {}}},
          {resolve()}};
}

} // namespace origo
