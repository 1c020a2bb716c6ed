#pragma once

#include "eval/Kernel.h"

#include <algorithm>
#include <cmath>

/// circle's unsigned numbers of 4 bits, two a byte. No runtime computes with them: results are what the scales and zero
/// points mean, rounded once.
namespace origo::eval {

/// The real numbers that a tensor of uint4, or of floats, stands for.
inline std::vector<double> realsOf(const Tensor &tensor) {
  std::vector<double> reals;
  reals.reserve(static_cast<size_t>(tensor.count()));
  if (tensor.type != TensorType::UINT4) {
    auto elements = tensor.as<float>();
    reals.assign(elements.begin(), elements.end());
    return reals;
  }
  auto packed = tensor.bytes();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int number = packed[i / 2] >> (i % 2 * 4) & 15;
    reals.push_back(static_cast<double>(tensor.scale()) * (number - tensor.zeroPoint()));
  }
  return reals;
}

/// Fills a tensor of uint4, or of floats.
inline void setReals(Tensor &tensor, llvm::ArrayRef<double> reals) {
  if (tensor.type != TensorType::UINT4) {
    std::copy(reals.begin(), reals.end(), tensor.as<float>().begin());
    return;
  }
  auto packed = tensor.as<uint8_t>();
  std::fill(packed.begin(), packed.end(), 0);
  for (size_t i = 0; i < reals.size(); ++i) {
    double number = std::round(reals[i] / static_cast<double>(tensor.scale())) + tensor.zeroPoint();
    int bits = std::isnan(number) ? 0 : static_cast<int>(std::clamp(number, 0.0, 15.0));
    packed[i / 2] |= static_cast<uint8_t>(bits << (i % 2 * 4));
  }
}

} // namespace origo::eval
