#include "passes/Rule.h"

namespace origo {

/// concat(x, nothing, y) → concat(x, y)
static Rule concatenation() {
  return {"concatenation", "", op(Op::CONCATENATION, {}).mayActivate(), [](Match &m) {
            Node root = m.root();
            std::vector<Expr> kept;
            for (unsigned i = 0; i < root.operandCount(); ++i)
              if (Tensor x = root.operand(i); x.elementCount() != 0)
                kept.emplace_back(x);
            if (kept.size() == root.operandCount())
              return decline("no operand is known to be empty");
            if (kept.empty())
              return decline("all operands are empty");
            return m.replace(op(Op::CONCATENATION, kept)
                                 .with("axis", root.option("axis"))
                                 .activation(root.activation())
                                 .as(root.result()));
          }};
}

Pass RemoveEmptyOperands() {
  return {"remove-empty-operands",
          "concat(x, nothing, y) -> concat(x, y)",
          Phase::Simplify,
          true,
          {},
          {concatenation()}};
}

} // namespace origo
