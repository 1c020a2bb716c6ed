#include "passes/Rule.h"

#include "llvm/ADT/Sequence.h"

namespace origo {

/// concat(x, nothing, y) → concat(x, y)
static Rule concatenation() {
  return {"concatenation", "", op(Op::CONCATENATION, {}).mayActivate(), [](Match &m) {
            Node root = m.root();
            auto isEmpty = [&](unsigned i) {
              return root.operand(i).isStatic() && root.operand(i).elementCount() == 0;
            };
            if (llvm::none_of(llvm::seq(0u, root.operandCount()), isEmpty))
              return decline("no operand is known to be empty");
            std::vector<Expr> kept;
            for (unsigned i = 0; i < root.operandCount(); ++i)
              if (!isEmpty(i))
                kept.emplace_back(root.operand(i));
            if (kept.empty())
              return decline("all operands are empty");
            return m.replace(op(Op::CONCATENATION, kept)
                                 .with("axis", root.option("axis"))
                                 .activation(root.activation())
                                 .as(root.result()));
          }};
}

Pass RemoveEmptyOperands() {
  return {"remove-empty-operands", "concat(x, nothing, y) -> concat(x, y)", Phase::Simplify, true, {},
          {concatenation()}};
}

} // namespace origo
