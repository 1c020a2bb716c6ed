#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace origo::eval {

/// How RESIZE_NEAREST_NEIGHBOR looks at pixels.
struct Nearest {
  bool alignCorners, halfPixel;
  /// Which one of `from` pixels becomes pixel `i` of `to`.
  int64_t place(int32_t i, int32_t from, int32_t to) const {
    float scale = alignCorners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                                         : static_cast<float>(from) / static_cast<float>(to);
    float at = (static_cast<float>(i) + (halfPixel ? 0.5f : 0.f)) * scale;
    return std::clamp<int64_t>(static_cast<int64_t>(alignCorners ? std::round(at) : std::floor(at)), 0, from - 1);
  }
};

} // namespace origo::eval
