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
