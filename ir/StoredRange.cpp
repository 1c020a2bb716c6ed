#include "ir/StoredRange.h"

#include "schema/TensorTypes.h"

#include <cmath>

namespace origo {

std::optional<std::pair<int64_t, int64_t>> storedRange(const Value &value) {
  const Quantization *q = value.quantization;
  auto bits = bitsPerElement(value.type);
  bool isUnsigned = value.type == TensorType::UINT8;
  if (!q || q->scale.size() != 1 || q->zeroPoint.size() > 1 ||
      (!isUnsigned && value.type != TensorType::INT8 && value.type != TensorType::INT16))
    return std::nullopt;
  int64_t low = isUnsigned ? 0 : -(int64_t{1} << (*bits - 1)), high = low + (int64_t{1} << *bits) - 1;
  int64_t zero = q->zeroPoint.empty() ? 0 : q->zeroPoint[0];
  float scale = q->scale[0];
  if (zero < low || zero > high || !std::isnormal(scale) || scale < 0 || !std::isfinite(scale * 65536))
    return std::nullopt;
  return std::pair(low - zero, high - zero);
}

} // namespace origo
