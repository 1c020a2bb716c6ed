#pragma once

#include "eval/Session.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <cmath>

namespace origo::eval {

inline llvm::ArrayRef<float> floatsIn(const OwnedTensor &tensor) {
  return {reinterpret_cast<const float *>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)};
}

/// How far two results are from each other: in parts of the range for floats, in steps for integers of 8 bits. All
/// others are to be the same, or infinitely far. What is too small for a normal float counts as 0.
inline double distance(const OwnedTensor &a, const OwnedTensor &b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (a.type != b.type || a.shape != b.shape || a.bytes.size() != b.bytes.size())
    return infinity;
  double worst = 0;
  if (a.type == TensorType::FLOAT32) {
    auto normal = [](float v) { return std::fabs(v) < std::numeric_limits<float>::min() ? 0 : v; };
    auto x = llvm::map_to_vector(floatsIn(a), normal), y = llvm::map_to_vector(floatsIn(b), normal);
    double low = 0, high = 0;
    for (float v : x)
      if (std::isfinite(v)) {
        low = std::min<double>(low, v);
        high = std::max<double>(high, v);
      }
    for (size_t i = 0; i < x.size(); ++i) {
      bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
      double off = same ? 0 : std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])) / (high - low);
      worst = std::isnan(off) ? infinity : std::max(worst, off);
    }
    return worst;
  }
  if (a.type == TensorType::INT8 || a.type == TensorType::UINT8) {
    for (size_t i = 0; i < a.bytes.size(); ++i) {
      int x = a.bytes[i], y = b.bytes[i];
      if (a.type == TensorType::INT8) {
        x = static_cast<int8_t>(x);
        y = static_cast<int8_t>(y);
      }
      worst = std::max<double>(worst, std::abs(x - y));
    }
    return worst;
  }
  return a.bytes == b.bytes ? 0 : infinity;
}

} // namespace origo::eval
