#pragma once

#include "eval/Session.h"
#include "schema/TensorTypes.h"

#include <cstring>
#include <random>

namespace origo::test {

/// Inputs for a session, the same for the same seed: floats in [−1, 1), any small integers, 0 or 1 as larger ones,
/// because most are indices. Dimensions that are not known are `unknown`. Nothing where there is no such input.
inline std::optional<std::vector<eval::OwnedTensor>> randomInputs(llvm::ArrayRef<eval::Port> ports, unsigned seed,
                                                                  int32_t unknown = 1) {
  std::mt19937 random(seed);
  std::vector<eval::OwnedTensor> made;
  for (const eval::Port &port : ports) {
    eval::OwnedTensor tensor{port.type, port.shape, {}};
    uint64_t count = 1;
    for (int32_t &dim : tensor.shape)
      count *= static_cast<uint64_t>(dim = dim < 0 ? unknown : dim);
    auto bytes = payloadBytes(port.type, count);
    if (!bytes || port.type == TensorType::STRING || *bytes > 1 << 26)
      return std::nullopt;
    tensor.bytes.resize(*bytes);
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t number = static_cast<uint32_t>(random());
      if (port.type == TensorType::FLOAT32) {
        float value = static_cast<float>(number >> 8) / 8388608.f - 1.f;
        std::memcpy(tensor.bytes.data() + i * sizeof(float), &value, sizeof(float));
      } else if (port.type == TensorType::INT8 || port.type == TensorType::UINT8) {
        tensor.bytes[i] = static_cast<uint8_t>(number);
      } else if (*bytes) {
        tensor.bytes[i * (*bytes / count)] = number & 1;
      }
    }
    made.push_back(std::move(tensor));
  }
  return made;
}

/// Products that the convolutions and matrix products of subgraph 0 add up, by the shapes that the model states.
inline uint64_t multiplyAdds(const Model &model) {
  uint64_t sum = 0;
  if (model.subgraphs.empty())
    return 0;
  for (const Operator &op : model.subgraphs[0]->operators) {
    auto count = [](const Value *value) { return value ? value->elementCount().value_or(0) : 0; };
    auto dim = [](const Value *value, size_t from) {
      return value && value->shape.size() > from ? static_cast<uint64_t>(std::max(0, value->shape[from])) : 0;
    };
    switch (op.code) {
    case BuiltinOperator::CONV_2D:
      sum += count(op.result(0)) * dim(op.operand(1), 1) * dim(op.operand(1), 2) * dim(op.operand(1), 3);
      break;
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      sum += count(op.result(0)) * dim(op.operand(1), 1) * dim(op.operand(1), 2);
      break;
    case BuiltinOperator::TRANSPOSE_CONV:
      sum += count(op.operand(2)) * dim(op.operand(1), 0) * dim(op.operand(1), 1) * dim(op.operand(1), 2);
      break;
    case BuiltinOperator::FULLY_CONNECTED:
      sum += count(op.result(0)) * dim(op.operand(1), 1);
      break;
    case BuiltinOperator::BATCH_MATMUL:
      if (op.operand(0) && !op.operand(0)->shape.empty())
        sum += count(op.result(0)) * static_cast<uint64_t>(std::max(0, op.operand(0)->shape.back()));
      break;
    default:
      break;
    }
  }
  return sum;
}

} // namespace origo::test
