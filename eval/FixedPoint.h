#pragma once

#include "eval/Tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

/// The integer arithmetic of quantised kernels, rounded exactly as in TFLite's reference kernels.
namespace origo::eval {

/// A real factor as mantissa · 2^(shift − 31).
struct Multiplier {
  int32_t mantissa = 0;
  int shift = 0; ///< to the left; negative: to the right
};

inline Multiplier quantizeMultiplier(double factor) {
  if (factor == 0 || !std::isfinite(factor))
    return {};
  int shift;
  int64_t mantissa = static_cast<int64_t>(std::round(std::frexp(factor, &shift) * (int64_t(1) << 31)));
  if (mantissa == int64_t(1) << 31) {
    mantissa /= 2;
    ++shift;
  }
  if (shift < -31)
    return {};
  if (shift > 30)
    return {std::numeric_limits<int32_t>::max(), 30};
  return {static_cast<int32_t>(mantissa), shift};
}

inline int32_t saturate32(int64_t value) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

/// Sums and products that wrap: an overflow, which only broken models have, is not undefined.
template <class T> T wrappingAdd(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <class T> T wrappingSub(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
/// Through 64 bits, because narrow unsigned types would be promoted to int.
template <class T> T wrappingMul(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(a)) *
                        static_cast<uint64_t>(static_cast<int64_t>(b)));
}

/// The upper half of 2ab, rounded to nearest, ties up.
inline int32_t saturatingRoundingDoublingHighMul(int32_t a, int32_t b) {
  if (a == b && a == std::numeric_limits<int32_t>::min())
    return std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>((static_cast<int64_t>(a) * b + (1 << 30)) >> 31);
}
inline int16_t saturatingRoundingDoublingHighMul(int16_t a, int16_t b) {
  if (a == b && a == std::numeric_limits<int16_t>::min())
    return std::numeric_limits<int16_t>::max();
  return static_cast<int16_t>((static_cast<int32_t>(a) * b + (1 << 14)) >> 15);
}

/// x / 2^exponent, rounded to nearest, ties away from zero.
template <class T> T roundingDivideByPOT(T x, int exponent) {
  T mask = static_cast<T>((int64_t(1) << exponent) - 1);
  T remainder = static_cast<T>(x & mask);
  T threshold = static_cast<T>((mask >> 1) + (x < 0 ? 1 : 0));
  return static_cast<T>((x >> exponent) + (remainder > threshold ? 1 : 0));
}

/// x · factor. The product with 2^shift wraps, as it does in the reference kernels.
inline int32_t multiply(int32_t x, Multiplier by) {
  int left = std::clamp(by.shift, 0, 31), right = std::clamp(-by.shift, 0, 31);
  int32_t shifted = static_cast<int32_t>(static_cast<uint32_t>(x) << left);
  return roundingDivideByPOT(saturatingRoundingDoublingHighMul(shifted, by.mantissa), right);
}

/// The same with one rounding at the end instead of two: what the runtime computes CONV_2D of int8 and FULLY_CONNECTED
/// by, and nothing else.
inline int32_t multiplyRoundingOnce(int32_t x, Multiplier by) {
  int shift = 31 - by.shift;
  return static_cast<int32_t>((static_cast<int64_t>(x) * by.mantissa + (int64_t(1) << (shift - 1))) >> shift);
}

/// Of sums of 64 bits, halves away from zero: FULLY_CONNECTED of 16 bits.
inline int32_t multiplyRoundingOnce(int64_t x, Multiplier by) {
  double real = std::round(static_cast<double>(x) * std::ldexp(static_cast<double>(by.mantissa), by.shift - 31));
  return static_cast<int32_t>(
      std::clamp<double>(real, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

/// The same for sums of 48 bits (16 bit activations), with 16 bits of the mantissa. Factors are below 2^15.
inline int32_t multiply(int64_t x, Multiplier by) {
  int32_t reduced = by.mantissa < 0x7FFF0000 ? (by.mantissa + (1 << 15)) >> 16 : 0x7FFF;
  int shift = 15 - std::min(by.shift, 14);
  int64_t product = static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(int64_t(reduced)) +
                                         (uint64_t(1) << (shift - 1)));
  return static_cast<int32_t>(product >> shift);
}

/// log2 of a scale that is (nearly) a power of two.
inline std::optional<int> exponentOf(float scale) {
  double power = std::log2(static_cast<double>(scale)), rounded = std::round(power);
  return std::fabs(power - rounded) < 1e-3 ? std::optional(static_cast<int>(rounded)) : std::nullopt;
}

/// Bounds that a fused activation puts on real numbers; all of them where there is none.
inline std::pair<float, float> activationRange(circle::ActivationFunctionType activation) {
  switch (activation) {
  case circle::ActivationFunctionType::RELU:
    return {0.f, std::numeric_limits<float>::infinity()};
  case circle::ActivationFunctionType::RELU6:
    return {0.f, 6.f};
  case circle::ActivationFunctionType::RELU_N1_TO_1:
    return {-1.f, 1.f};
  default:
    return {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  }
}

inline float activate(float x, circle::ActivationFunctionType activation) {
  switch (activation) {
  case circle::ActivationFunctionType::NONE:
    return x;
  case circle::ActivationFunctionType::TANH:
    return std::tanh(x);
  case circle::ActivationFunctionType::SIGN_BIT:
    return std::signbit(x) ? 1 : 0;
  default: {
    auto [low, high] = activationRange(activation);
    return std::min(std::max(x, low), high);
  }
  }
}

/// Bounds on real numbers as bounds on those of a quantised type T.
template <class T> std::pair<int32_t, int32_t> quantizedRange(float realLow, float realHigh, const Tensor &output) {
  int32_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  auto quantize = [&](float real) {
    return output.zeroPoint() +
           saturate32(static_cast<int64_t>(std::clamp(std::round(real / output.scale()), -1e9f, 1e9f)));
  };
  if (std::isfinite(realLow))
    low = std::max(low, quantize(realLow));
  if (std::isfinite(realHigh))
    high = std::min(high, quantize(realHigh));
  return {low, std::max(low, high)};
}

/// The bounds of a fused activation, likewise.
template <class T>
std::pair<int32_t, int32_t> quantizedActivationRange(circle::ActivationFunctionType activation, const Tensor &output) {
  auto [low, high] = activationRange(activation);
  return quantizedRange<T>(low, high, output);
}

} // namespace origo::eval
