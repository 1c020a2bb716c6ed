#pragma once

#include "eval/FixedPoint.h"

#include "llvm/Support/MathExtras.h"

/// From sums of quantised numbers, with their zero points, to elements of the result.
namespace origo::eval {

template <class T> T clampTo(int32_t value, int32_t zeroPoint) {
  return static_cast<T>(
      std::clamp<int32_t>(wrappingAdd(value, zeroPoint), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

/// Nearest, ties away from zero; numbers that do not fit are cut off.
inline int32_t roundToInt(float value) {
  return std::isnan(value) ? 0 : saturate32(static_cast<int64_t>(std::clamp(std::round(value), -1e10f, 1e10f)));
}

/// Height and width, in any order.
inline bool areImageAxes(llvm::ArrayRef<int32_t> axes) {
  return axes.size() == 2 && axes[0] != axes[1] && llvm::all_of(axes, [](int32_t a) { return a == 1 || a == 2; });
}

template <class T> class MeanEnd {
public:
  /// `image`: over height and width of 8 bit images, their dimensions kept. There the runtime scales the sum with its
  /// zero points, and takes away what they make afterwards. Nothing for a count that means nothing.
  static std::optional<MeanEnd> of(const Tensor &in, const Tensor &out, int64_t count, bool image) {
    if (count == 0 || count > std::numeric_limits<int32_t>::max())
      return std::nullopt;
    MeanEnd made;
    made.add = out.zeroPoint();
    if (image) {
      float scale = in.scale() / (static_cast<float>(count) * out.scale());
      made.factor = quantizeMultiplier(static_cast<double>(scale));
      made.add = wrappingSub(made.add, roundToInt(static_cast<float>(in.zeroPoint()) * in.scale() / out.scale()));
      return made;
    }
    // input scale / output scale / count as one factor, with as many bits of the quotient as fit.
    Multiplier factor = quantizeMultiplier(static_cast<double>(in.scale()) / static_cast<double>(out.scale()));
    int shift = std::min(static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(count))), 31 + factor.shift);
    made.factor = {static_cast<int32_t>((static_cast<int64_t>(factor.mantissa) << shift) / count),
                   factor.shift - shift};
    made.zeros = wrappingMul(static_cast<int32_t>(count), in.zeroPoint());
    return made;
  }
  T operator()(int32_t sum) const { return clampTo<T>(multiply(wrappingSub(sum, zeros), factor), add); }

private:
  Multiplier factor;
  int32_t zeros = 0, add = 0;
};

/// The runtime does this one in float.
template <class T> class SumEnd {
public:
  SumEnd(const Tensor &in, const Tensor &out, int64_t count)
      : scale(in.scale() / out.scale()), bias(static_cast<float>(-in.zeroPoint()) * scale * static_cast<float>(count)),
        zero(out.zeroPoint()) {}
  T operator()(int32_t sum) const { return clampTo<T>(roundToInt(static_cast<float>(sum) * scale + bias), zero); }

private:
  float scale, bias;
  int32_t zero;
};

} // namespace origo::eval
