// The file as flatbuffers has it, with all indices checked where they are used.
#pragma once
#include "circle_generated.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

[[noreturn]] inline void refuse(const std::string &why) { throw std::runtime_error(why); }
inline std::string number(auto value) { return std::to_string(value); }

/// What kernels take for granted.
inline void need(bool holds) {
  if (!holds)
    refuse("the shapes or options are not supported");
}

class Graph {
public:
  using Shape = std::vector<int>;

  explicit Graph(const std::string &bytes) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    if (!circle::VerifyModelBuffer(verifier))
      refuse("is not a circle model");
    model = circle::GetModel(bytes.data());
    if (!model->subgraphs() || model->subgraphs()->size() == 0)
      refuse("has no subgraph");
    for (const auto *subgraph : *model->subgraphs())
      if (!subgraph || !subgraph->tensors() || !subgraph->operators() || !subgraph->inputs() || !subgraph->outputs())
        refuse("has an incomplete subgraph");
  }

  uint32_t subgraphs() const { return model->subgraphs()->size(); }
  const circle::SubGraph &subgraph(uint32_t index) const {
    if (index >= subgraphs())
      refuse("there is no subgraph " + number(index));
    return *model->subgraphs()->Get(index);
  }

  /// The bytes that a buffer holds; null: none.
  const flatbuffers::Vector<uint8_t> *buffer(uint32_t index) const {
    const auto *buffers = model->buffers();
    if (!buffers || index >= buffers->size() || !buffers->Get(index))
      return nullptr;
    if (buffers->Get(index)->offset() > 1)
      refuse("buffer " + number(index) + " lies behind the flatbuffer, which is not supported");
    const auto *data = buffers->Get(index)->data();
    return data && data->size() ? data : nullptr;
  }

  circle::BuiltinOperator code(const circle::Operator &op) const {
    const auto *codes = model->operator_codes();
    if (!codes || op.opcode_index() >= codes->size() || !codes->Get(op.opcode_index()))
      refuse("there is no operator code " + number(op.opcode_index()));
    // Old files have the code in a byte.
    const circle::OperatorCode &entry = *codes->Get(op.opcode_index());
    return std::max(entry.builtin_code(), static_cast<circle::BuiltinOperator>(entry.deprecated_builtin_code()));
  }

private:
  const circle::Model *model;
};

/// Operand or result `place`; −1: absent.
inline int32_t at(const flatbuffers::Vector<int32_t> *list, uint32_t place) {
  return list && place < list->size() ? list->Get(place) : -1;
}

/// A tensor of a subgraph, as the kernels need it: static, of four bytes or one an element.
struct Tensor {
  uint32_t graph = 0;
  int32_t index = -1; ///< −1: absent
  circle::TensorType type = circle::TensorType::FLOAT32;
  Graph::Shape shape;
  int size = 1;
  const flatbuffers::Vector<uint8_t> *bytes = nullptr; ///< of a constant
  bool variable = false;
  std::vector<float> scales;
  std::vector<int64_t> zeros;
  int axis = 0; ///< of several scales

  explicit operator bool() const { return index >= 0; }
  bool isFloat() const { return type == circle::TensorType::FLOAT32; }
  bool isByte() const { return type == circle::TensorType::INT8 || type == circle::TensorType::UINT8; }
  int width() const { return isByte() || type == circle::TensorType::BOOL ? 1 : 4; }
  int dim(size_t i) const { return i < shape.size() ? shape[i] : 1; }
  const char *c() const {
    return isFloat() ? "float" : type == circle::TensorType::INT8 ? "int8_t" : width() == 1 ? "uint8_t" : "int32_t";
  }
  std::string name() const { return index < 0 ? "NULL" : "tensor_" + number(graph) + "_" + number(index); }

  /// Of tensors of 8 bits.
  float scale() const {
    if (scales.size() != 1)
      refuse("tensor " + number(index) + " has not one scale");
    return scales[0];
  }
  int zero() const { return zeros.empty() ? 0 : static_cast<int>(zeros[0]); }

  /// The numbers of a constant of int32.
  std::vector<int> values() const {
    need(bytes && type == circle::TensorType::INT32 && bytes->size() == 4 * static_cast<size_t>(size));
    std::vector<int> result(static_cast<size_t>(size));
    std::memcpy(result.data(), bytes->data(), bytes->size());
    return result;
  }
};

inline Tensor tensorOf(const Graph &graph, uint32_t subgraph, int32_t index) {
  Tensor result;
  if (index == -1)
    return result;
  const auto &tensors = *graph.subgraph(subgraph).tensors();
  if (index < 0 || static_cast<uint32_t>(index) >= tensors.size() || !tensors.Get(static_cast<uint32_t>(index)))
    refuse("there is no tensor " + number(index));
  const circle::Tensor &tensor = *tensors.Get(static_cast<uint32_t>(index));
  result.graph = subgraph;
  result.index = index;
  result.type = tensor.type();
  result.bytes = graph.buffer(tensor.buffer());
  result.variable = tensor.is_variable();
  // Sizes that are open (shape_signature) are taken as the file has them. Small enough that no index of the generated
  // code overflows an int.
  int64_t size = 1;
  if (const auto *dims = tensor.shape())
    for (int dim : *dims) {
      if (dim < 1 || dim > 1 << 24 || (size *= dim) > 1 << 26)
        refuse("tensor " + number(index) + " is empty or too large");
      result.shape.push_back(dim);
    }
  result.size = static_cast<int>(size);
  switch (result.type) {
  case circle::TensorType::FLOAT32:
  case circle::TensorType::INT32:
  case circle::TensorType::INT8:
  case circle::TensorType::UINT8:
  case circle::TensorType::BOOL:
    break;
  default:
    refuse("tensor " + number(index) + " is " + circle::EnumNameTensorType(result.type) + ", which has no kernels");
  }
  if (result.bytes && result.bytes->size() != static_cast<size_t>(result.size) * static_cast<size_t>(result.width()))
    refuse("tensor " + number(index) + " has other bytes than its shape says");
  if (tensor.sparsity())
    refuse("tensor " + number(index) + " is sparse");
  if (const auto *quantization = tensor.quantization()) {
    if (quantization->scale())
      result.scales.assign(quantization->scale()->begin(), quantization->scale()->end());
    if (quantization->zero_point())
      result.zeros.assign(quantization->zero_point()->begin(), quantization->zero_point()->end());
    result.axis = quantization->quantized_dimension();
    for (float scale : result.scales)
      if (!(scale > 0 && scale < 1e30f))
        refuse("tensor " + number(index) + " has a scale that is none");
    for (int64_t zero : result.zeros)
      if (zero < -128 || zero > 255)
        refuse("tensor " + number(index) + " has a zero point that is none");
    if (result.scales.size() != result.zeros.size() && !result.zeros.empty())
      refuse("tensor " + number(index) + " has scales and zero points that do not fit together");
  }
  return result;
}
