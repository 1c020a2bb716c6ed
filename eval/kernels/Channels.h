#pragma once

#include "eval/FixedPoint.h"
#include "eval/Kernel.h"

namespace origo::eval {

/// From the sums of a quantised convolution or matrix product to its output: input scale · filter scale / output scale
/// for each output channel, or once for all.
struct ChannelScales {
  /// How the runtime computes that factor: the first product in double, or rounded to float.
  enum class Product { Double, Float };
  bool roundOnce = false;
  /// FULLY_CONNECTED of 16 bits with no bias to tell how wide sums are: those that 32 bits hold are scaled as such, as
  /// in runtimes that have no others.
  bool narrowWhereFits = false;
  llvm::SmallVector<Multiplier, 0> factors;
  int32_t inputZero = 0, filterZero = 0, outputZero = 0, low = 0, high = 0;
  /// By channel, where these are not all 0: TensorFlow Lite has no such filters, ONE's quantiser makes them. A channel
  /// is `filterInner` elements in a row, then comes the next.
  llvm::SmallVector<int32_t, 0> filterZeros;
  int64_t filterInner = 1;
  int32_t filterZeroAt(int64_t element) const {
    return filterZeros.empty() ? filterZero
                               : filterZeros[static_cast<size_t>(element / filterInner) % filterZeros.size()];
  }

  template <class T>
  static llvm::Expected<ChannelScales> of(const KernelContext &ctx, const Tensor &input, const Tensor &filter,
                                          const Tensor &output, int32_t channels,
                                          circle::ActivationFunctionType activation, Product precision) {
    ChannelScales made;
    made.inputZero = input.zeroPoint();
    made.filterZero = filter.perChannel() ? 0 : filter.zeroPoint();
    if (filter.perChannel() && llvm::any_of(filter.quantization->zeroPoint, [](int64_t zero) { return zero != 0; })) {
      for (int32_t c = 0; c < channels; ++c)
        made.filterZeros.push_back(filter.zeroPointOf(c));
      for (int d = filter.quantization->dimension + 1; d < filter.rank(); ++d)
        made.filterInner *= filter.dim(d);
    }
    made.outputZero = output.zeroPoint();
    std::tie(made.low, made.high) = quantizedActivationRange<T>(activation, output);
    size_t count = filter.perChannel() ? channels : 1;
    for (size_t c = 0; c < count; ++c) {
      double product = precision == Product::Double
                           ? static_cast<double>(input.scale()) * static_cast<double>(filter.scaleOf(c))
                           : static_cast<double>(input.scale() * filter.scaleOf(c));
      made.factors.push_back(quantizeMultiplier(product / static_cast<double>(output.scale())));
    }
    return made;
  }

  template <class T, class Acc> T scaled(Acc sum, int64_t channel) const {
    Multiplier factor = factors[factors.size() == 1 ? 0 : channel];
    int32_t value = !roundOnce ? multiply(sum, factor)
                    : narrowWhereFits && sum == static_cast<int32_t>(sum)
                        ? multiplyRoundingOnce(static_cast<int32_t>(sum), factor)
                        : multiplyRoundingOnce(sum, factor);
    return static_cast<T>(std::clamp(wrappingAdd(value, outputZero), low, high));
  }
};

} // namespace origo::eval
