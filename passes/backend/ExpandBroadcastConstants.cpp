#include "passes/Rule.h"

namespace origo {

/// f(x, c) → f(x, c repeated to the shape of the result), for back ends that do not broadcast.
static Rule expand() {
  constexpr uint64_t limit = 64 << 20;
  auto a = any(), b = any();
  auto f = anyWith(Trait::Binary, {a, b}).mayActivate();
  return {"expand", "not an operator of two operands", f, [=](Match &m) {
            Tensor result = m[f];
            if (!result.isStatic() || result.elementCount() == 0)
              return decline("the shape of the result is not known before run time, or has no elements");
            if (m.root().has(Trait::Comparison) && result.type() != TensorType::BOOL)
              return decline("a comparison whose result is not bool");
            Expr expanded = clone(f);
            bool expands = false;
            for (unsigned i : {0u, 1u}) {
              Tensor constant = m.root().operand(i);
              if (!constant.isDenseConstant() || constant.hasShapeOf(result))
                continue;
              std::optional<unsigned> bits = bitsPerElement(constant.type());
              if (!bits || *bits % 8 || !constant.isPerTensor())
                return decline("the constant is not dense, or quantised by channel");
              if (*result.elementCount() > limit / (*bits / 8))
                return decline("the constant would be very big");
              expanded = expanded.operand(i, fold(broadcastTo(constant, shapeOf(result))));
              expands = true;
            }
            return expands ? m.replace(expanded) : decline("no constant is broadcast");
          }};
}

Pass ExpandBroadcastConstants() {
  return {"expand-broadcast-constants",
          "f(x, c) -> f(x, c repeated to the shape of the result), for back ends that do not broadcast",
          Phase::Backend,
          false,
          {{"expand_broadcast_const", {}}},
          {expand()}};
}

} // namespace origo
