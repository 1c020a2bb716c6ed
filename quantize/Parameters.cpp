#include "quantize/Parameters.h"

#include "eval/Tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace origo::quantize {

double largestWeight(TensorType type) {
  switch (type) {
  case TensorType::INT4:
    return 7;
  case TensorType::INT16:
    return 32767;
  default:
    return 127;
  }
}

static Parameters asymmetricOne(Extremes range) {
  double low = std::min(0.f, range.min), high = std::max(0.f, range.max), zero;
  double scale = (high - low) / 255;
  if (scale < 1e-5) {
    scale = 1e-5;
    zero = std::round(-low / scale);
  } else {
    zero = range.min >= 0 ? 0 : range.max < 0 ? 255 : std::round(-low / scale);
  }
  return {static_cast<float>(scale), static_cast<int64_t>(std::clamp(zero, 0., 255.))};
}

static Parameters symmetric(Extremes range, double most, double least) {
  double reach = std::max({-static_cast<double>(range.min), static_cast<double>(range.max), 0.});
  return {static_cast<float>(std::max(reach / most, least)), 0};
}

/// What integers stand for has to be a float: so many steps, of masks that are the lowest one, may be a bit more.
static Parameters withinFloats(Parameters one, double steps) {
  constexpr float most = std::numeric_limits<float>::max();
  if (!std::isfinite(static_cast<float>(steps) * one.scale))
    one.scale = std::nextafter(static_cast<float>(double{most} / steps), 0.f);
  return one;
}

Parameters activationParameters(Extremes range, TensorType type, Dialect dialect) {
  if (dialect == Dialect::One)
    return type == TensorType::UINT8 ? asymmetricOne(range)
                                     : symmetric(range, largestWeight(type), type == TensorType::INT16 ? 1e-8 : 1e-5);
  constexpr double least = std::numeric_limits<float>::min(); // below that a scale is 0 to some who read it
  double low = std::min(0.f, range.min), high = std::max(0.f, range.max);
  if (type == TensorType::INT16)
    return high == low ? Parameters{1.f / 32767, 0}
                       : withinFloats(symmetric(range, largestWeight(type), least), largestWeight(type));
  double lowest = type == TensorType::UINT8 ? 0 : -128;
  if (high == low)
    return {1.f / 255, static_cast<int64_t>(lowest)}; // below 1, which comparisons want
  double scale = std::max((high - low) / 255, least);
  double zero = std::clamp(std::round(lowest - low / scale), lowest, lowest + 255);
  return withinFloats({static_cast<float>(scale), static_cast<int64_t>(zero)},
                      std::max(zero - lowest, lowest + 255 - zero));
}

/// The converter's: a range of 1e-6 around 0.
static constexpr double weightFloor = 1e-6 / 2;

Parameters weightParameters(Extremes range, TensorType type, Dialect dialect, bool hasFloor) {
  if (type == TensorType::UINT8)
    return asymmetricOne(range);
  double least = dialect == Dialect::One ? (type == TensorType::INT16 ? 1e-8 : 1e-5)
                 : hasFloor              ? weightFloor / 127
                                         : std::numeric_limits<float>::min();
  return symmetric(range, largestWeight(type), least);
}

bool reachesFloor(llvm::ArrayRef<Extremes> ranges) {
  auto reach = [](const Extremes &range) { return double{std::max(-range.min, range.max)}; };
  return llvm::any_of(ranges, [&](const Extremes &range) { return reach(range) >= weightFloor; }) ||
         llvm::all_of(ranges, [&](const Extremes &range) { return reach(range) <= 0; });
}

static size_t channelCount(const Value &constant, int32_t axis, int32_t blockSize) {
  return blockSize > 0 ? constant.payload().size() / sizeof(float) / static_cast<size_t>(blockSize)
         : axis < 0    ? 1
                       : constant.shape[axis];
}

/// Visits runs of elements of one channel each, through a block of the bytes at a time.
static void forEachRun(const Value &constant, int32_t axis, int32_t blockSize,
                       llvm::function_ref<void(size_t channel, llvm::ArrayRef<float> run)> visit) {
  uint64_t count = constant.payload().size() / sizeof(float);
  size_t channels = channelCount(constant, axis, blockSize);
  uint64_t inner = blockSize > 0 ? static_cast<uint64_t>(blockSize)
                   : axis < 0    ? std::max<uint64_t>(count, 1)
                                 : eval::product(constant.shape, axis + 1, constant.shape.size());
  std::vector<float> block(1 << 16);
  for (uint64_t at = 0; at < count;) {
    uint64_t some = std::min<uint64_t>(block.size(), count - at);
    constant.payload().read(at * sizeof(float), {reinterpret_cast<uint8_t *>(block.data()), some * sizeof(float)});
    for (uint64_t i = 0; i < some;) {
      uint64_t run = std::min(some - i, inner - (at + i) % inner);
      visit((at + i) / inner % channels, llvm::ArrayRef<float>(block).slice(i, run));
      i += run;
    }
    at += some;
  }
}

std::vector<Extremes> extremesOf(const Value &constant, int32_t axis, int32_t blockSize) {
  std::vector<Extremes> all(channelCount(constant, axis, blockSize));
  forEachRun(constant, axis, blockSize, [&](size_t channel, llvm::ArrayRef<float> run) {
    all[channel].join(run.size() == 1 ? Extremes{run[0], run[0]} : extremesOf(run));
  });
  for (Extremes &one : all)
    if (one.empty())
      one = {0, 0};
  return all;
}

Parameters asymmetricWeights(Extremes range, TensorType type) {
  double low = std::min(range.min, 0.f), high = std::max(range.max, 0.f), bits = type == TensorType::INT4 ? 4 : 8;
  double steps = std::exp2(bits) - 1, lowest = -std::exp2(bits - 1);
  double scale = std::max((high - low) / steps, 1e-6 / steps);
  return {static_cast<float>(scale),
          static_cast<int64_t>(std::clamp(std::nearbyint(lowest - low / scale), lowest, lowest + steps))};
}

namespace {

/// One channel, by sums over all of its numbers.
class Sums {
public:
  Sums(const Value &constant, int32_t axis, int32_t blockSize, size_t channels)
      : constant(constant), axis(axis), blockSize(blockSize), channels(channels) {}
  std::vector<double> squares() const {
    std::vector<double> sums(channels);
    forEachRun(constant, axis, blockSize, [&](size_t channel, llvm::ArrayRef<float> run) {
      for (float x : run)
        sums[channel] += double{x} * double{x};
    });
    return sums;
  }
  struct Beyond {
    double magnitudes = 0, within = 0, beyond = 0;
  };
  /// How much lies at these magnitudes or further out, and how many do not.
  std::vector<Beyond> beyond(llvm::ArrayRef<double> reach) const {
    std::vector<Beyond> sums(channels);
    forEachRun(constant, axis, blockSize, [&](size_t channel, llvm::ArrayRef<float> run) {
      Beyond &one = sums[channel];
      for (float x : run) {
        double magnitude = std::fabs(double{x});
        bool isBeyond = magnitude >= reach[channel];
        one.magnitudes += isBeyond ? magnitude : 0;
        ++(isBeyond ? one.beyond : one.within);
      }
    });
    return sums;
  }

private:
  const Value &constant;
  int32_t axis, blockSize;
  size_t channels;
};

/// What ai-edge-quantizer takes for the reach of weights.
std::vector<double> reachOf(const Value &constant, int32_t axis, TensorType type, WeightClip clip, int32_t blockSize) {
  size_t channels = channelCount(constant, axis, blockSize);
  double count = static_cast<double>(constant.payload().size()) / sizeof(float) / static_cast<double>(channels);
  Sums sums(constant, axis, blockSize, channels);
  bool isNarrow = type == TensorType::INT4;
  if (clip == WeightClip::Mse) {
    std::vector<double> reach = sums.squares();
    for (double &one : reach)
      one = std::sqrt(one / count) * (isNarrow ? 0.37755 : 0.05408) * largestWeight(type);
    return reach;
  }
  std::vector<double> reach(channels, 1);
  double rounding = std::exp2(-2. * (isNarrow ? 4 : 8)) / 3;
  for (unsigned step = 0; step < 10; ++step)
    for (auto [one, sum] : llvm::zip_equal(reach, sums.beyond(reach)))
      one = sum.magnitudes / (rounding * sum.within + sum.beyond);
  return reach;
}

} // namespace

std::vector<Extremes> clippedExtremesOf(const Value &constant, int32_t axis, TensorType type, WeightClip clip,
                                        int32_t blockSize) {
  std::vector<Extremes> all = extremesOf(constant, axis, blockSize);
  if (clip == WeightClip::None || all.empty())
    return all;
  if (clip != WeightClip::LeastSquares) {
    for (auto [one, reach] : llvm::zip_equal(all, reachOf(constant, axis, type, clip, blockSize)))
      if (std::isfinite(reach) && reach > 0) {
        auto most = static_cast<float>(reach); // which may be more than the greatest magnitude
        one = {-most, most};
      }
    return all;
  }
  constexpr size_t clips = 24; // from 1 down to 0.31 of the greatest magnitude
  std::vector<std::array<double, clips>> errors(all.size());
  auto reachAt = [&](size_t channel, size_t clip) {
    return std::max(-all[channel].min, all[channel].max) * (1 - 0.03f * static_cast<float>(clip));
  };
  auto most = static_cast<float>(largestWeight(type));
  forEachRun(constant, axis, blockSize, [&](size_t channel, llvm::ArrayRef<float> run) {
    for (size_t clip = 0; clip < clips; ++clip) {
      float scale = reachAt(channel, clip) / most;
      if (!(scale > 0) || !std::isfinite(scale))
        return;
      double sum = 0;
      for (float x : run) {
        double off = x - scale * std::clamp(std::nearbyint(x / scale), -most, most);
        sum += off * off;
      }
      errors[channel][clip] += sum;
    }
  });
  for (size_t channel = 0; channel < all.size(); ++channel) {
    size_t best = std::min_element(errors[channel].begin(), errors[channel].end()) - errors[channel].begin();
    float reach = reachAt(channel, best);
    all[channel] = {std::max(all[channel].min, -reach), std::min(all[channel].max, reach)};
  }
  return all;
}

} // namespace origo::quantize
