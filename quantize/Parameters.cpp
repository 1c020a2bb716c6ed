#include "quantize/Parameters.h"

#include "eval/Tensor.h"

#include <algorithm>
#include <cmath>

namespace origo::quantize {

static double largest(TensorType type) {
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

Parameters activationParameters(Extremes range, TensorType type, Dialect dialect) {
  if (dialect == Dialect::One)
    return type == TensorType::UINT8 ? asymmetricOne(range)
                                     : symmetric(range, largest(type), type == TensorType::INT16 ? 1e-8 : 1e-5);
  double low = std::min(0.f, range.min), high = std::max(0.f, range.max);
  if (type == TensorType::INT16)
    return high == low ? Parameters{1.f / 32767, 0} : symmetric(range, largest(type), 0);
  double lowest = type == TensorType::UINT8 ? 0 : -128;
  if (high == low)
    return {1.f / 255, static_cast<int64_t>(lowest)}; // below 1, which comparisons want
  double scale = (high - low) / 255;
  return {static_cast<float>(scale),
          static_cast<int64_t>(std::clamp(std::round(lowest - low / scale), lowest, lowest + 255))};
}

Parameters weightParameters(Extremes range, TensorType type, Dialect dialect) {
  if (type == TensorType::UINT8)
    return asymmetricOne(range);
  // The converter's floor: of a range of 1e-6 around 0.
  double least = dialect == Dialect::Tflite ? 1e-6 / 254 : type == TensorType::INT16 ? 1e-8 : 1e-5;
  return symmetric(range, largest(type), least);
}

std::vector<Extremes> extremesOf(const Value &constant, int32_t axis) {
  size_t channels = axis < 0 ? 1 : constant.shape[axis];
  uint64_t count = constant.payload().size() / sizeof(float);
  uint64_t inner = axis < 0 ? std::max<uint64_t>(count, 1)
                            : eval::product(constant.shape, axis + 1, constant.shape.size());
  std::vector<Extremes> all(channels);
  std::vector<float> block(1 << 16);
  for (uint64_t at = 0; at < count;) {
    uint64_t some = std::min<uint64_t>(block.size(), count - at);
    constant.payload().read(at * sizeof(float), {reinterpret_cast<uint8_t *>(block.data()), some * sizeof(float)});
    for (uint64_t i = 0; i < some;) {
      uint64_t run = std::min(some - i, inner - (at + i) % inner);
      Extremes &own = all[(at + i) / inner % channels];
      own.join(run == 1 ? Extremes{block[i], block[i]}
                        : extremesOf(llvm::ArrayRef<float>(block).slice(i, run)));
      i += run;
    }
    at += some;
  }
  for (Extremes &one : all)
    if (one.empty())
      one = {0, 0};
  return all;
}

} // namespace origo::quantize
