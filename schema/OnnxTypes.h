#pragma once

#include "schema/circle_generated.h"

#include <optional>

namespace origo {

/// What TensorProto.DataType of ONNX is as a tensor of ours. None: no such tensor is taken.
inline std::optional<circle::TensorType> tensorTypeOfOnnx(int64_t type) {
  using circle::TensorType;
  switch (type) {
  case 1:
    return TensorType::FLOAT32;
  case 2:
    return TensorType::UINT8;
  case 3:
    return TensorType::INT8;
  case 4:
    return TensorType::UINT16;
  case 5:
    return TensorType::INT16;
  case 6:
    return TensorType::INT32;
  case 7:
    return TensorType::INT64;
  case 9:
    return TensorType::BOOL;
  case 10:
    return TensorType::FLOAT16;
  case 11:
    return TensorType::FLOAT64;
  case 12:
    return TensorType::UINT32;
  case 13:
    return TensorType::UINT64;
  default:
    return std::nullopt;
  }
}

} // namespace origo
