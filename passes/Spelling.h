#pragma once

#include "passes/Rule.h"

#include <cmath>

/// Functions in all the ways in which exporters write them, for the patterns of recognisers. In which order and
/// association sums and products stand, and in which shape a constant of one number, the matcher sees through itself.
namespace origo {

// With one number.
inline Expr plus(Expr x, double c) { return (x + about(c)) | (x - about(-c)); }
inline Expr times(Expr x, Quotient c) { return x * about(c) | x / about({c.denominator, c.numerator}); }
inline Expr negated(Expr x) { return -x | x * -1.0 | (0.0 - x); }
inline Expr halfOf(Expr x) { return x * 0.5 | x / 2; }
/// Half of x times 1 + g, in whichever factor the half is, or in each term.
inline Expr halfOfGated(Expr x, Expr g) {
  Expr gate = 1 + g, half = halfOf(x);
  return 0.5 * x * gate | (x * gate) / 2 | (x / 2) * gate | x * (gate / 2) | x * (halfOf(g) + 0.5) | (half + half * g);
}

// Powers.
inline Expr squareOf(Expr x) { return square(x) | x * x | pow(x, 2); }
inline Expr rootOf(Expr x) { return sqrt(x) | pow(x, 0.5); }
inline Expr inverseRootOf(Expr x) { return rsqrt(x) | 1.0 / rootOf(x) | pow(x, -0.5); }
inline Expr expOf(Expr x) { return op(Op::EXP, {x}); }
inline Expr logOf(Expr x) { return op(Op::LOG, {x}); }

// Bounds.
inline Expr positiveOf(Expr x) { return relu(x) | maximum(x, 0.0); }
/// The lesser of x and 0.
inline Expr negativeOf(Expr x) { return minimum(x, 0.0) | negated(positiveOf(negated(x))); }
inline Expr clamped(Expr x, double low, double high) {
  Expr bounded = minimum(maximum(x, low), high) | maximum(minimum(x, high), low);
  if (low == 0 && high == 1)
    bounded = bounded | op(Op::RELU_0_TO_1, {x});
  return low == 0 ? bounded | minimum(relu(x), high) | relu(minimum(x, high)) : bounded;
}
/// As a fused activation of `f`, too, or of each of its spellings.
inline Expr clampedTo6(Expr f) {
  Expr bounded = relu6(f) | clamped(f, 0, 6);
  for (const Expr &one : f->kind == Expr::Kind::Either ? f->operands : std::vector{f})
    bounded = bounded | one.mayActivate().activation(Activation::RELU6);
  return bounded;
}

/// What is `a` where a condition holds, and else `b`.
inline Expr chosen(Expr condition, Expr a, Expr b) { return anyOf({Op::SELECT_V2, Op::SELECT}, {condition, a, b}); }
inline Expr compared(std::initializer_list<Op> codes, Expr a, Expr b) { return anyOf(codes, {a, b}); }
/// Whether x is positive; where x is zero, both may be said.
inline Expr isPositive(Expr x) {
  return compared({Op::GREATER, Op::GREATER_EQUAL}, x, 0.0) | compared({Op::LESS, Op::LESS_EQUAL}, 0.0, x);
}
/// `a` where x is positive, and else `b`; where x is zero, both are to be the same.
inline Expr byTheSignOf(Expr x, Expr a, Expr b) {
  Expr positive = isPositive(x);
  Expr negative = compared({Op::LESS, Op::LESS_EQUAL}, x, 0.0) | compared({Op::GREATER, Op::GREATER_EQUAL}, 0.0, x);
  return chosen(positive, a, b) | chosen(negative, b, a);
}

/// A reduction, with its dimensions as they are or put back.
inline Expr column(Expr reduced) { return reduced | anyOf(reshapes, {reduced}); }

/// `over`, a reduction of x over axes that the match has read, or what follows it, has one number for each row of x.
inline bool isColumnOf(Match &m, Tensor x, const Expr &reduced, Tensor axes, Tensor column) {
  std::optional<Integers> over = m.integers(axes);
  if (!over || !over->isLastAxisOf(x.rank()) || column.rank() != x.rank() || column.lastDimension() != 1)
    return false;
  return m.op(reduced).option("keep_dims") || (x.isStaticButOne() && column.isStaticButOne() &&
                                               column.statedShape().drop_back() == x.statedShape().drop_back());
}

/// Reshapes and transposes one after the other, from `least` to `most` of them, that lead from x; as many as there are.
inline Expr movedFrom(Expr x, unsigned least, unsigned most) {
  std::optional<Expr> all;
  for (unsigned count = most; count >= least; --count) {
    Expr chain = x;
    for (unsigned i = 0; i < count; ++i)
      chain = anyOf({Op::TRANSPOSE, Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS}, {chain});
    all = all ? *all | chain : chain;
  }
  return *all;
}
/// Movements keep how the elements are stored.
inline bool storesAlike(Tensor x, Tensor moved) {
  return x.hasTypeOf(moved) && x.isPerTensor() && x.hasQuantizationOf(moved);
}

inline bool isFiniteNumber(double n) { return std::isfinite(n); }

} // namespace origo
