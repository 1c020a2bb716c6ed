#pragma once

#include "eval/FixedPoint.h"

#include "llvm/ADT/bit.h"

/// Functions on fixed-point numbers of 16 or 32 bits (T), by the same steps as the runtime's reference kernels. "With n
/// integer bits": a number is its raw value · 2^(n − the bits right of the sign).
namespace origo::eval {

template <class T> class Fixed {
public:
  static constexpr int bits = 8 * sizeof(T) - 1;

  /// x · 2^exponent, saturated to the left, rounded to the right.
  static T scaled(T x, int exponent) {
    if (exponent <= 0)
      return roundingDivideByPOT(x, -exponent);
    int64_t wide = static_cast<int64_t>(x) * (int64_t(1) << exponent);
    return static_cast<T>(std::clamp<int64_t>(wide, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
  static T multiply(T a, T b) { return saturatingRoundingDoublingHighMul(a, b); }
  static T one(int integerBits) {
    return integerBits == 0 ? std::numeric_limits<T>::max() : static_cast<T>(T(1) << (bits - integerBits));
  }

  /// exp(a) without integer bits, for a ≤ 0 with `integerBits` of them, at most 7.
  static T expOfNegative(T a, int integerBits) {
    const int fraction = bits - integerBits;
    const T quarter = static_cast<T>(T(1) << (fraction - 2));
    T rest = static_cast<T>((a & (quarter - 1)) - quarter); // in [−1/4, 0)
    T result = expNearZero(scaled(rest, integerBits));
    T quarters = wrappingSub(rest, a);
    // exp(−1/4), exp(−1/2), exp(−1) … exp(−16)
    static constexpr int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    for (int exponent = -2; exponent < std::min(integerBits, 5); ++exponent)
      if (quarters & static_cast<T>(T(1) << (fraction + exponent)))
        result = multiply(result, constant(powers[exponent + 2]));
    if (integerBits > 5 && a < -(int64_t(32) << fraction))
      return 0;
    return a == 0 ? std::numeric_limits<T>::max() : result;
  }

  /// tanh(a) without integer bits, for a with at most 6 of them.
  static T tanh(T a, int integerBits) {
    if (a == 0)
      return 0;
    // exp(2a): the same raw number with one integer bit more.
    T result = oneMinusOverOnePlus(expOfNegative(a < 0 ? a : wrappingSub<T>(0, a), integerBits + 1));
    return a < 0 ? wrappingSub<T>(0, result) : result;
  }
  /// 1 / (1 + exp(−a)) without integer bits.
  static T logistic(T a, int integerBits) {
    if (a == 0)
      return static_cast<T>(T(1) << (bits - 1));
    T result = inverseOfOnePlus(expOfNegative(a < 0 ? a : wrappingSub<T>(0, a), integerBits));
    return a > 0 ? result : wrappingSub(one(0), result);
  }

  /// 1 / (1 + a) for a in [0, 1], neither with integer bits.
  static T inverseOfOnePlus(T a) { return scaled(newton(a), 1); }
  /// (1 − a) / (1 + a), likewise.
  static T oneMinusOverOnePlus(T a) { return scaled(wrappingSub(newton(a), one(2)), 2); }

private:
  static T constant(int32_t raw) {
    if constexpr (sizeof(T) == 2)
      return static_cast<T>(roundingDivideByPOT(raw, 16));
    else
      return raw;
  }
  static T halfSum(T a, T b) {
    int64_t sum = static_cast<int64_t>(a) + b;
    return static_cast<T>((sum + (sum >= 0 ? 1 : -1)) / 2);
  }

  /// exp(a) for a in [−1/4, 0): a polynomial around −1/8.
  static T expNearZero(T a) {
    const T middle = constant(1895147668), third = constant(715827883); // exp(−1/8), 1/3
    T x = wrappingAdd(a, static_cast<T>(T(1) << (bits - 3)));
    T x2 = multiply(x, x), x3 = multiply(x2, x), x4 = multiply(x2, x2);
    T higher = scaled(wrappingAdd(multiply(wrappingAdd(scaled(x4, -2), x3), third), x2), -1);
    int64_t sum = static_cast<int64_t>(middle) + multiply(middle, wrappingAdd(x, higher));
    return static_cast<T>(sizeof(T) == 2 ? std::clamp<int64_t>(sum, -32768, 32767) : sum);
  }

  /// 2 / (1 + a) with two integer bits, by three steps of Newton's from 48/17 − 32/17 · (1 + a) / 2.
  static T newton(T a) {
    T half = halfSum(a, one(0));
    T x = wrappingAdd(constant(1515870810), multiply(half, constant(-1010580540)));
    for (int i = 0; i < 3; ++i) {
      T error = wrappingSub(one(2), multiply(half, x));
      x = wrappingAdd(x, scaled(multiply(x, error), 2));
    }
    return x;
  }
};

/// 1 / x as a mantissa without integer bits and how many bits x has beyond one; x is above 0, with `integerBits`.
inline std::pair<int32_t, int> reciprocalOf(int32_t x, int integerBits) {
  int headroom = llvm::countl_zero(static_cast<uint32_t>(x));
  auto rest = static_cast<int32_t>((static_cast<uint32_t>(x) << std::min(headroom, 31)) - (1u << 31));
  return {Fixed<int32_t>::inverseOfOnePlus(rest), integerBits - headroom};
}

} // namespace origo::eval
