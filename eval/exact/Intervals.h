#pragma once

#include "ir/Model.h"

#include <cmath>

namespace origo::eval::exact {

/// Bounds of all numbers that a tensor can hold, by what it is computed from.
struct Interval {
  double low = -INFINITY, high = INFINITY;
};
Interval intervalOf(const Value &value, unsigned depth = 0);
/// What an operator makes, but for its fused activation.
Interval intervalOf(const Operator &op, unsigned depth = 0);

/// What a clamp leaves of its operand; none: it is another operator.
std::optional<Interval> clampOf(const Operator &op);
/// What its fused activation leaves, where that is a clamp.
std::optional<Interval> fusedClampOf(const Operator &op);

/// A bound that an operator has, by itself or as its fused activation.
struct Bound {
  bool isUpper;
  double at;        ///< NaN: several numbers
  unsigned of = ~0; ///< the operand that it bounds; ~0: what the operator computes
};
llvm::SmallVector<Bound, 2> boundsOf(const Operator &op);
/// Is what it bounds within it anyway?
bool isImplied(const Operator &op, const Bound &bound);

} // namespace origo::eval::exact
