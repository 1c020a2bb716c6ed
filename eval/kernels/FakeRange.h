#pragma once

#include "eval/Kernel.h"

#include <algorithm>
#include <cmath>

namespace origo::eval {

/// The numbers that FAKE_QUANT rounds to: steps of `scale` from `least` to `most`, moved so that 0 is one of them.
struct FakeRange {
  float least, most, scale;
  static llvm::Expected<FakeRange> of(const KernelContext &ctx) {
    const auto &options = ctx.options<circle::FakeQuantOptions>();
    int bits = options.num_bits();
    if (!(options.min() < options.max()) || !std::isfinite(options.max() - options.min()))
      return ctx.fail("has an impossible range");
    float low = options.narrow_range() ? 1 : 0, high = static_cast<float>((1 << bits) - 1);
    float scale = (options.max() - options.min()) / (high - low);
    float zero = std::clamp(std::round(low - options.min() / scale), low, high);
    return FakeRange{(low - zero) * scale, (high - zero) * scale, scale};
  }
};

} // namespace origo::eval
