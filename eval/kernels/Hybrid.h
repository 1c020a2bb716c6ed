#pragma once

#include "eval/Kernel.h"
#include "eval/Numbers.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

/// Weights of 8 or 4 bits, and float operands that are quantised while the graph runs.
namespace origo::eval {

/// The elements of weights; those of packed int4 as int8.
template <class T> class Weights {
public:
  explicit Weights(const Tensor &tensor) {
    if (std::is_same_v<T, int8_t> && tensor.type == TensorType::INT4) {
      unpacked.reserve(static_cast<size_t>(tensor.count()));
      const uint8_t *packed = tensor.bytes().data();
      for (int64_t i = 0; i < tensor.count(); ++i)
        unpacked.push_back(static_cast<T>(int4At(packed, i)));
      elements = unpacked;
    } else {
      elements = tensor.as<T>();
    }
  }
  T operator[](int64_t i) const { return elements[i]; }

private:
  llvm::SmallVector<T, 0> unpacked;
  llvm::ArrayRef<T> elements;
};
template <class T> Weights<T> weightsOf(const Tensor &tensor) { return Weights<T>(tensor); }

/// How a row of floats between `least` and `most` (0 is one of them) becomes int8. Asymmetric: with a zero point.
struct HybridScale {
  float scale = 1, inverse = 0, zero = 0,
        low = -127;  ///< numbers are from `low` to 127 before the zero point is taken off
  bool empty = true; ///< all elements are 0
  static HybridScale of(float least, float most, bool asymmetric) {
    HybridScale made;
    float range = asymmetric ? most - least : std::max(std::fabs(least), std::fabs(most));
    if (range == 0 || !std::isfinite(range))
      return made;
    made.empty = false;
    // Which product is computed in double is the runtime's.
    double scale = asymmetric ? (static_cast<double>(most) - static_cast<double>(least)) / 255 : 0;
    made.scale = asymmetric ? static_cast<float>(scale) : range / 127;
    if (asymmetric) {
      double low = static_cast<double>(least) / scale, high = static_cast<double>(most) / scale;
      double place = 128 - low < 127 + high ? -128 - low : 127 - high;
      made.zero = static_cast<float>(std::clamp(std::round(place), -128.0, 127.0));
      made.low = -128;
    }
    made.inverse = asymmetric ? 1 / made.scale : 127 / range;
    return made;
  }
  /// An integer, without the zero point.
  float quantize(float value) const {
    float number = std::round(zero + value * inverse);
    return (std::isnan(number) ? 0 : std::clamp(number, low, 127.f)) - zero;
  }
};

/// How the input of a hybrid convolution is quantised. Scales of filters that are all equal count as one.
inline bool convolvesAsymmetrically(bool depthwise, const Tensor &filter) {
  llvm::ArrayRef<float> scales = filter.quantization->scale;
  return depthwise || llvm::any_of(scales, [&](float scale) { return scale != scales.front(); });
}

/// Rows of floats, each quantised to int8 by its own range; `elements` are without the zero point.
struct HybridRows {
  HybridRows(llvm::ArrayRef<float> values, int64_t rows, bool asymmetric) : elements(values.size(), 0) {
    size_t length = rows ? values.size() / rows : 0;
    for (int64_t row = 0; row < rows; ++row)
      quantize(values.slice(row * length, length), elements.data() + row * length, asymmetric);
  }
  llvm::SmallVector<int16_t, 0> elements;
  llvm::SmallVector<float, 0> scales;

private:
  void quantize(llvm::ArrayRef<float> values, int16_t *out, bool asymmetric) {
    float least = 0, most = 0;
    for (float value : values) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
    HybridScale by = HybridScale::of(least, most, asymmetric);
    scales.push_back(by.scale);
    if (by.empty)
      return;
    for (size_t i = 0; i < values.size(); ++i)
      out[i] = static_cast<int16_t>(by.quantize(values[i]));
  }
};

} // namespace origo::eval
