#pragma once

#include "eval/Tensor.h"
#include "eval/kernels/Elementwise.h"

#include <array>
#include <cmath>

/// A function of one quantised number as a table: exact for 8 bits, interpolated for 16.
namespace origo::eval {

/// Quantises f for each number of 8 bits, and looks the elements up.
template <class T, class F> llvm::Error mapByTable8(KernelContext &ctx, F f) {
  static_assert(sizeof(T) == 1);
  const Tensor &in = ctx.input(0);
  Tensor &result = ctx.output();
  // All in float, as in the runtime.
  const float inverse = 1 / result.scale();
  std::array<T, 256> table;
  for (int number = std::numeric_limits<T>::min(); number <= std::numeric_limits<T>::max(); ++number) {
    float real = in.scale() * static_cast<float>(number - in.zeroPoint());
    float scaled = std::round(f(real) * inverse) + static_cast<float>(result.zeroPoint());
    table[static_cast<uint8_t>(number)] =
        std::isnan(scaled) ? T(0)
                           : static_cast<T>(std::clamp(scaled, static_cast<float>(std::numeric_limits<T>::min()),
                                                       static_cast<float>(std::numeric_limits<T>::max())));
  }
  auto x = in.as<T>();
  auto out = result.as<T>();
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = table[static_cast<uint8_t>(x[i])];
  return llvm::Error::success();
}

/// Real: what the places are computed in. f at 513 places of the 16 bit range, each moved by half the error that a
/// straight line has in the middle of its interval.
template <class Real> class Table16 {
public:
  template <class F> Table16(Real inScale, int32_t inZero, Real outScale, int32_t outZero, F f) {
    Real inLow = inScale * static_cast<Real>(low - inZero), inHigh = inScale * static_cast<Real>(high - inZero);
    Real outLow = outScale * static_cast<Real>(low - outZero), outHigh = outScale * static_cast<Real>(high - outZero);
    Real step = (inHigh - inLow) / steps, inverse = static_cast<Real>(high - low + 1) / (outHigh - outLow);
    for (int i = 0; i < steps; ++i) {
      Real at = inLow + static_cast<Real>(i) * step;
      Real value = std::round(f(at) * inverse);
      Real next = f(inLow + static_cast<Real>(i + 1) * step) * inverse;
      Real middle = std::round(f(at + step / 2) * inverse);
      Real error = std::round((next + value) / 2) - middle;
      numbers[i] = saturated(value - std::round(error / 2));
    }
    numbers[steps] = saturated(std::round(f(inHigh) * inverse));
  }
  int16_t operator[](int16_t number) const {
    int index = 256 + (number >> 7), rest = number & 0x7f;
    int slope = numbers[index + 1] - numbers[index];
    return static_cast<int16_t>(numbers[index] + ((slope * rest + 64) >> 7));
  }

private:
  static constexpr int low = -32768, high = 32767, steps = 512;
  static int16_t saturated(Real value) {
    return std::isnan(value) ? int16_t(0) : static_cast<int16_t>(std::clamp<Real>(value, low, high));
  }
  std::array<int16_t, steps + 1> numbers;
};

template <class F> llvm::Error mapByTable16(KernelContext &ctx, F f) {
  const Tensor &in = ctx.input(0);
  Tensor &output = ctx.output();
  Table16<float> table(in.scale(), in.zeroPoint(), output.scale(), output.zeroPoint(), f);
  auto x = in.as<int16_t>();
  auto out = output.as<int16_t>();
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = table[x[i]];
  return llvm::Error::success();
}

// Those of functions that the options do not change, as kernels.
template <float (*f)(float)> llvm::Error mapFloat(KernelContext &ctx) { return map<float, float>(ctx, f); }
template <class T, float (*f)(float)> llvm::Error mapByTable8(KernelContext &ctx) { return mapByTable8<T>(ctx, f); }
template <float (*f)(float)> llvm::Error mapByTable16(KernelContext &ctx) { return mapByTable16(ctx, f); }

} // namespace origo::eval
