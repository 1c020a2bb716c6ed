#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <limits>

namespace origo::quantize {

/// The least and the greatest of some numbers. None seen yet: `min` is above `max`.
struct Extremes {
  float min = std::numeric_limits<float>::infinity(), max = -std::numeric_limits<float>::infinity();
  bool empty() const { return !(min <= max); }
  void join(const Extremes &other) {
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
};

/// Of all numbers but NaN and the lowest float, which stands for "nothing" in masks and maxima.
Extremes extremesOf(llvm::ArrayRef<float> numbers);

} // namespace origo::quantize
