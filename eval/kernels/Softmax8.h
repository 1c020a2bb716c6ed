#pragma once

#include "eval/FixedPointFunctions.h"
#include "eval/kernels/Elementwise.h"

namespace origo::eval {

/// SOFTMAX of 8 bit numbers. Differences from the largest element have five integer bits, sums of exponentials twelve.
class Softmax8 {
public:
  /// Of results in steps of 1/256 from 0, which is what it makes.
  template <class T> static bool makes(const Tensor &result) {
    return result.scale() == 1.0f / 256 && result.zeroPoint() == std::numeric_limits<T>::min();
  }
  /// To be asked for when the result has its shape.
  static llvm::Expected<Softmax8> of(const KernelContext &ctx) {
    double beta = static_cast<double>(ctx.options<circle::SoftmaxOptions>().beta());
    double real = std::min(beta * static_cast<double>(ctx.input(0).scale()) * (1 << 26), 2147483647.0);
    Softmax8 made;
    made.factor = quantizeMultiplier(real);
    if (!(real > 1) || made.factor.shift < 0)
      return ctx.fail("beta times the operand's scale is too small");
    made.radius = std::floor(31.0 * (1 << 26) / static_cast<double>(int64_t(1) << made.factor.shift));
    return made;
  }

  /// Differences that have no representation count as 0.
  int32_t exponential(int32_t difference) const {
    if (difference < -radius)
      return 0;
    int32_t shifted = static_cast<int32_t>(static_cast<uint32_t>(difference) << factor.shift);
    return Fixed32::expOfNegative(saturatingRoundingDoublingHighMul(shifted, factor.mantissa), 5);
  }

  /// What an exponential is in a sum.
  static int32_t summand(int32_t exponential) { return Fixed32::scaled(exponential, -12); }

  /// From a row's sum to its elements.
  template <class T> class Row {
  public:
    explicit Row(int32_t sum) {
      auto [reciprocal, bitsOverOne] = reciprocalOf(sum, 12);
      inverse = reciprocal;
      shift = bitsOverOne + 31 - static_cast<int>(8 * sizeof(T));
    }
    T operator()(int32_t exponential) const {
      int32_t value = 0;
      if (shift >= 0 && shift < 31)
        value = roundingDivideByPOT(Fixed32::multiply(inverse, exponential), shift);
      return saturate<T>(value + std::numeric_limits<T>::min());
    }

  private:
    int32_t inverse;
    int shift;
  };

private:
  using Fixed32 = Fixed<int32_t>;
  Multiplier factor;
  double radius = 0;
};

} // namespace origo::eval
