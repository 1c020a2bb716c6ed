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

/// Rows of floats, each quantised to int8 by its own range. Asymmetric: with a zero point; `elements` are without it.
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
    float range = asymmetric ? most - least : std::max(std::fabs(least), std::fabs(most));
    if (range == 0 || !std::isfinite(range)) {
      scales.push_back(1);
      return;
    }
    // Which product is computed in double is the runtime's.
    double scale = asymmetric ? (static_cast<double>(most) - static_cast<double>(least)) / 255 : 0;
    scales.push_back(asymmetric ? static_cast<float>(scale) : range / 127);
    int zero = 0;
    if (asymmetric) {
      double low = static_cast<double>(least) / scale, high = static_cast<double>(most) / scale;
      double place = 128 - low < 127 + high ? -128 - low : 127 - high;
      zero = static_cast<int>(std::clamp(std::round(place), -128.0, 127.0));
    }
    float inverse = asymmetric ? 1 / scales.back() : 127 / range;
    for (size_t i = 0; i < values.size(); ++i) {
      float number = std::round(static_cast<float>(zero) + values[i] * inverse);
      number = std::isnan(number) ? 0 : std::clamp(number, asymmetric ? -128.f : -127.f, 127.f);
      out[i] = static_cast<int16_t>(static_cast<int>(number) - zero);
    }
  }
};

/// Refuses weights without a scale, or with another number of scales than channels.
inline llvm::Error wantFilterScales(KernelContext &ctx, const Tensor &filter, int64_t channels) {
  if (!filter.quantization || filter.quantization->scale.empty())
    return ctx.fail(1, "has no scale");
  if (filter.perChannel() && filter.quantization->scale.size() != static_cast<size_t>(channels))
    return ctx.fail(1, "does not have a scale for each output channel", std::to_string(channels),
                    std::to_string(filter.quantization->scale.size()));
  return llvm::Error::success();
}

} // namespace origo::eval
