#pragma once

#include "eval/FixedPoint.h"
#include "eval/exact/Kernels.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval::loops {}

/// What several exact kernels compute with.
namespace origo::eval::exact {

using Op = BuiltinOperator;
using Activation = circle::ActivationFunctionType;
using Sum = Arithmetic::Sum;

inline double down(double x) { return std::floor(x); }
inline double up(double x) { return std::ceil(x); }
inline double nearest(double x) { return std::nearbyint(x); } // half to even
inline double towardsZero(double x) { return std::trunc(x); }
inline double awayAtHalf(double x) { return std::round(x); }

inline Number bounded(const Arithmetic &math, Number x, double low, double high) {
  x = math.larger(x, math.of(low));
  return std::isinf(high) ? x : math.smaller(x, math.of(high));
}

inline Number activated(const Context &ctx, Number x, Activation activation) {
  switch (activation) {
  case Activation::NONE:
    return x;
  case Activation::TANH:
    return ctx.math.hyperbolicTangent(x);
  case Activation::SIGN_BIT:
    return ctx.math.compare(x, {}) == Order::Less ? ctx.math.of(1) : Number();
  default: {
    auto [low, high] = activationRange(activation);
    return bounded(ctx.math, x, static_cast<double>(low), static_cast<double>(high));
  }
  }
}

inline llvm::ArrayRef<Number> numbersOf(const Tensor *tensor) {
  return tensor ? tensor->as<Number>() : llvm::ArrayRef<Number>();
}

} // namespace origo::eval::exact
