#pragma once

#include "passes/Rule.h"

namespace origo {

/// Why an operand that is `moved` cannot be `x`, as it was before.
inline const char *movementRefusal(Match &m, Tensor x, Tensor moved) {
  if (!x.hasTypeOf(moved) || !x.isPerTensor() || !x.hasQuantizationOf(moved))
    return "quantised by channel, or what moves changes the quantisation";
  // Each operator passes one movement at a time. Where reshapes and transposes alternate, nothing merges them, and many
  // operators behind many of them would cost their product.
  return m.movementsInARow(moved) > 8 ? "many movements in a row" : nullptr;
}

/// Why f(…, moved, …), the root of the match, cannot be computed before the movement of `x` to `moved`.
inline const char *forwardRefusal(Match &m, Tensor x, Tensor moved) {
  Tensor result = m.root().result();
  if (const char *why = movementRefusal(m, x, moved))
    return why;
  if (m.root().resultCount() != 1 || m.root().has(Trait::ShapeQuery))
    return "not a function of one element of each operand";
  bool keepsType = m.root().has(Trait::Comparison) ? result.type() == TensorType::BOOL
                                                   : m.root().code() == Op::CAST || result.hasTypeOf(moved);
  if (!keepsType)
    return "changes the type";
  if (!result.isPerTensor())
    return "the result is quantised by channel";
  return moved.hasShapeOf(result) ? nullptr : "what is moved is broadcast";
}

} // namespace origo
