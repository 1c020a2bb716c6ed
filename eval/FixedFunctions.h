#pragma once

#include "eval/FixedPoint.h"

#include <bit>

/// exp, tanh and the logistic function in fixed-point arithmetic, with the steps and the rounding of TFLite's kernels.
namespace origo::eval {

/// A number as raw · 2^(IntegerBits − bits of Raw + 1).
template <class Raw, int IntegerBits> struct Fixed {
  static constexpr int fractionBits = static_cast<int>(sizeof(Raw) * 8) - 1 - IntegerBits;
  Raw raw = 0;
  static Fixed power(int exponent) { return {static_cast<Raw>(Raw(1) << (fractionBits + exponent))}; }
  /// The largest number there is where 1 is not.
  static Fixed one() {
    return IntegerBits == 0 ? Fixed{std::numeric_limits<Raw>::max()}
                            : Fixed{static_cast<Raw>(int64_t(1) << (fractionBits < 0 ? 0 : fractionBits))};
  }
  /// A constant, given with 32 bits.
  static Fixed of(int32_t wide) { return {static_cast<Raw>(sizeof(Raw) == 4 ? wide : roundingDivideByPOT(wide, 16))}; }
  friend Fixed operator+(Fixed a, Fixed b) { return {wrappingAdd(a.raw, b.raw)}; }
  friend Fixed operator-(Fixed a, Fixed b) { return {wrappingSub(a.raw, b.raw)}; }
  friend Fixed operator-(Fixed a) { return {wrappingSub(Raw(0), a.raw)}; }
  template <int Other> friend Fixed<Raw, IntegerBits + Other> operator*(Fixed a, Fixed<Raw, Other> b) {
    return {saturatingRoundingDoublingHighMul(a.raw, b.raw)};
  }
  /// The same number with another number of integer bits.
  template <int To> Fixed<Raw, To> rescaled() const {
    if constexpr (IntegerBits >= To)
      return {timesPowerOfTwo(IntegerBits - To)};
    else
      return {roundingDivideByPOT(raw, To - IntegerBits)};
  }
  /// The same bits read as a number that is 2^By times as large.
  template <int By> Fixed<Raw, IntegerBits + By> scaled() const { return {raw}; }
  Fixed dividedByPowerOfTwo(int exponent) const { return {roundingDivideByPOT(raw, exponent)}; }

private:
  Raw timesPowerOfTwo(int exponent) const {
    int64_t product = static_cast<int64_t>(raw) * (int64_t(1) << exponent);
    return static_cast<Raw>(
        std::clamp<int64_t>(product, std::numeric_limits<Raw>::min(), std::numeric_limits<Raw>::max()));
  }
};

/// Of a number in [−1/4, 0): a Taylor series around −1/8.
template <class Raw> Fixed<Raw, 0> expOfSmall(Fixed<Raw, 0> a) {
  using F = Fixed<Raw, 0>;
  F atMiddle = F::of(1895147668), third = F::of(715827883); // exp(−1/8), 1/3
  F x = a + F::power(-3), x2 = x * x, x3 = x2 * x, x4 = x2 * x2;
  F rest = ((x4.dividedByPowerOfTwo(2) + x3) * third + x2).dividedByPowerOfTwo(1);
  F grown = atMiddle * (x + rest);
  if constexpr (sizeof(Raw) == 2)
    return {static_cast<Raw>(std::clamp<int32_t>(atMiddle.raw + grown.raw, -32768, 32767))};
  return atMiddle + grown;
}

/// Of a number that is not above zero.
template <class Raw, int Bits> Fixed<Raw, 0> expOfNegative(Fixed<Raw, Bits> a) {
  using F = Fixed<Raw, Bits>;
  using F0 = Fixed<Raw, 0>;
  if (a.raw == 0)
    return F0::one();
  Raw quarter = F::power(-2).raw;
  F small{static_cast<Raw>((a.raw & (quarter - 1)) - quarter)};
  F0 result = expOfSmall(small.template rescaled<0>());
  Raw remainder = wrappingSub(small.raw, a.raw);
  // exp(−2^i) for i = −2 … 4
  static constexpr int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int i = -2; i < Bits && i <= 4; ++i)
    if (remainder & (int64_t(1) << (F::fractionBits + i)))
      result = result * F0::of(factors[i + 2]);
  if constexpr (Bits > 5)
    if (a.raw < F::of(-(1 << (36 - Bits))).raw) // −32
      return F0{0};
  return result;
}

/// Newton's steps towards 2 / (1 + a), for a in [0, 1].
template <class Raw> Fixed<Raw, 2> twoOverOnePlus(Fixed<Raw, 0> a) {
  using F2 = Fixed<Raw, 2>;
  int64_t sum = static_cast<int64_t>(a.raw) + Fixed<Raw, 0>::one().raw;
  Fixed<Raw, 0> half{static_cast<Raw>((sum + (sum >= 0 ? 1 : -1)) / 2)};
  F2 x = F2::of(1515870810) + half * F2::of(-1010580540); // 48/17 − 32/17 · half
  for (int i = 0; i < 3; ++i) {
    F2 rest = F2::one() - half * x;
    x = x + (x * rest).template rescaled<2>();
  }
  return x;
}

template <class Raw, int Bits> Fixed<Raw, 0> tanhOf(Fixed<Raw, Bits> a) {
  using F2 = Fixed<Raw, 2>;
  if (a.raw == 0)
    return {0};
  Fixed<Raw, Bits> negative = a.raw < 0 ? a : -a;
  auto e = expOfNegative(negative.template scaled<1>());
  auto t = (twoOverOnePlus(e) - F2::one()).template rescaled<0>();
  return a.raw < 0 ? -t : t;
}

template <class Raw, int Bits> Fixed<Raw, 0> logisticOf(Fixed<Raw, Bits> a) {
  using F0 = Fixed<Raw, 0>;
  if (a.raw == 0)
    return F0::of(1 << 30);
  Fixed<Raw, Bits> negative = a.raw > 0 ? -a : a;
  auto positive = twoOverOnePlus(expOfNegative(negative)).template scaled<-1>().template rescaled<0>();
  return a.raw > 0 ? positive : F0::one() - positive;
}

/// 1 / √x as a factor for multiply().
inline Multiplier inverseSquareRoot(int32_t x) {
  if (x <= 1)
    return {std::numeric_limits<int32_t>::max(), 0};
  int right = 11;
  for (; x >= 1 << 29; x /= 4)
    ++right;
  int leftPairs = (std::countl_zero(static_cast<uint32_t>(x)) - 1) / 2 - 1;
  right -= leftPairs;
  x <<= 2 * leftPairs;
  using F3 = Fixed<int32_t, 3>;
  F3 half = F3{x >> 1}.dividedByPowerOfTwo(1), threeHalves = F3{(1 << 28) + (1 << 27)}, root = F3::one();
  for (int i = 0; i < 5; ++i) {
    F3 cube = (root * root * root).rescaled<3>();
    root = (threeHalves * root - half * cube).rescaled<3>();
  }
  int32_t mantissa = (root * Fixed<int32_t, 0>{1518500250}).raw; // √2 / 2
  if (right < 0)
    return {saturate32(int64_t(mantissa) << -right), 0};
  return {mantissa, -right};
}

} // namespace origo::eval
