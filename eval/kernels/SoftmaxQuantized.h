#pragma once

#include "eval/FixedPointFunctions.h"
#include "eval/kernels/Elementwise.h"
#include "eval/kernels/LookupTable.h"

#include "llvm/ADT/bit.h"

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

/// SOFTMAX of 16 bit numbers, by tables of exp on [−10, 0] and of 1 / (1 + x) on [0, 1].
class Softmax16 {
public:
  static Softmax16 of(const KernelContext &ctx) {
    Softmax16 made;
    float beta = ctx.options<circle::SoftmaxOptions>().beta();
    made.factor = quantizeMultiplier(static_cast<double>(ctx.input(0).scale() * beta) / (10.0 / 65535));
    return made;
  }

  /// False: the sum of the exponentials overflows.
  bool row(const int16_t *x, int16_t *out, int64_t depth) const {
    int32_t largest = *std::max_element(x, x + depth), sum = 0;
    for (int64_t i = 0; i < depth; ++i) {
      int32_t place = wrappingAdd(multiply(x[i] - largest, factor), 32767);
      out[i] = exponential()[saturate<int16_t>(place)];
      sum = wrappingAdd<int32_t>(sum, out[i]);
    }
    int headroom = llvm::countl_zero(static_cast<uint32_t>(sum));
    if (headroom < 1 || headroom > 30)
      return false;
    auto normal =
        static_cast<int32_t>(((int64_t(sum) << (headroom - 1)) + (1 << 13)) >> 14); // 1 to 2 in steps of 2^−16
    int32_t reciprocal = inverse()[saturate<int16_t>(normal - (1 << 15) - (1 << 16))];
    int shift = 31 - headroom;
    for (int64_t i = 0; i < depth; ++i) {
      int64_t value = (int64_t(out[i]) * reciprocal + (int64_t(1) << (shift - 1))) >> shift;
      out[i] = static_cast<int16_t>(std::clamp<int64_t>(value, 0, 32767));
    }
    return true;
  }

private:
  using Table = Table16<double>;
  Multiplier factor;
  static const Table &exponential() {
    static const Table table(10.0 / 65535, 32767, 2.0 / 65535, 0, [](double x) { return std::exp(x); });
    return table;
  }
  static const Table &inverse() {
    static const Table table(1.0 / 65535, -32768, 2.0 / 65535, 0, [](double x) { return 1 / (1 + x); });
    return table;
  }
};

} // namespace origo::eval
