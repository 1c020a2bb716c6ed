#pragma once

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

/// Where RESIZE_BILINEAR's results lie in the image, for both engines.
namespace origo::eval {

/// The two elements that a result lies between, and how far it is from the first.
template <class Number> struct Between {
  int64_t first, second;
  Number rest;
};

/// How centers of pixels are placed.
struct Bilinear {
  bool alignCorners, halfPixel;

  llvm::SmallVector<Between<float>, 0> places(int32_t from, int32_t to) const {
    float scale = alignCorners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                                         : static_cast<float>(from) / static_cast<float>(to);
    llvm::SmallVector<Between<float>, 0> list;
    for (int32_t i = 0; i < to; ++i) {
      float at = halfPixel ? (static_cast<float>(i) + 0.5f) * scale - 0.5f : static_cast<float>(i) * scale;
      int64_t first = std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, from - 1);
      int64_t second = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(at)), 0, from - 1);
      list.push_back({first, second, at - static_cast<float>(first)});
    }
    return list;
  }

  /// In steps of 1/1024, for signed integers.
  llvm::SmallVector<Between<int64_t>, 0> integerPlaces(int64_t from, int64_t to) const {
    bool aligned = alignCorners && to > 1;
    int64_t scale = aligned ? ((from - 1) * 1024 + (to - 1) / 2) / (to - 1) : (from * 1024 + to / 2) / to;
    llvm::SmallVector<Between<int64_t>, 0> list;
    for (int64_t i = 0; i < to; ++i) {
      int64_t at = halfPixel ? i * scale + scale / 2 - 512 : i * scale;
      int64_t first = std::clamp<int64_t>(at / 1024, 0, from - 1);
      int64_t second = std::clamp<int64_t>((at + 1023) / 1024, 0, from - 1);
      list.push_back({first, second, at - first * 1024});
    }
    return list;
  }
};

} // namespace origo::eval
