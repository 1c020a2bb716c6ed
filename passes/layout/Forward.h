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

/// (t − mean(t)) · rsqrt(mean((t − mean(t))²) + ε) of a `t` that was moved: layer normalisation.
class Normalisation {
public:
  explicit Normalisation(Expr moved) : moved(std::move(moved)) {}

  Expr moved, axes = constant(), again = constant(), epsilon = constant();
  Expr average = op(Op::MEAN, {moved, axes}).with("keep_dims", 1).inside();
  Expr square = squaredDifference(moved, average).once();
  Expr variance = op(Op::MEAN, {square, again}).with("keep_dims", 1).once();
  Expr shifted = (variance + epsilon).once();
  Expr root = rsqrt(shifted).once();
  Expr difference = (moved - average).once();
  Expr whole = difference * root; ///< the root of the match

  /// The same of `x`, as it was before; its means are over `axes` and `again`.
  Expr before(Match &m, const Expr &x, const Expr &axes, const Expr &again) const {
    Expr mean = clone(average).operand(0u, x).operand(1u, axes);
    auto both = [&](const Expr &of) { // in the order that it has them in
      bool swapped = m.op(of).operand(0) == m[average];
      return clone(of).operand(swapped ? 1u : 0u, x).operand(swapped ? 0u : 1u, mean).as(m[moved], m[x]);
    };
    Expr spread = clone(variance).operand(0u, both(square)).operand(1u, again);
    unsigned place = m.op(shifted).operand(0) == m[variance] ? 0 : 1;
    Expr scale = clone(root).operand(0u, clone(shifted).operand(place, spread));
    unsigned front = m.root().operand(0) == m[difference] ? 0 : 1;
    return cloneRoot().operand(front, both(difference)).operand(1 - front, scale).as(m.root().result(), m[x]);
  }
};

} // namespace origo
