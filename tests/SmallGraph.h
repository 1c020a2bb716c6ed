#pragma once

#include "ir/Model.h"

#include <cstring>
#include <deque>

namespace origo::test {

/// A model of one subgraph, made operator by operator.
struct SmallGraph {
  Model model;
  Subgraph &graph = model.addSubgraph();

  Value *tensor(llvm::ArrayRef<int32_t> shape, TensorType type = TensorType::FLOAT32) {
    Value &value = model.addValue(graph);
    value.type = type;
    value.shape = shape;
    value.hasShape = value.hasRank = true;
    return &value;
  }
  /// A value with a signature: −1 in `shape` is an unknown dimension, stated as 1.
  Value *dynamic(llvm::ArrayRef<int32_t> shape, TensorType type = TensorType::FLOAT32) {
    Value *value = tensor(shape, type);
    value->setShapeSignature(model.copy(shape));
    value->shape.unknownToOne();
    return value;
  }
  template <class T> Value *constant(TensorType type, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<T> elements) {
    Value *value = tensor(shape, type);
    std::string bytes(elements.size() * sizeof(T), '\0');
    if (!bytes.empty())
      std::memcpy(bytes.data(), elements.data(), bytes.size());
    value->buffer = &model.addBuffer(Payload::owned(std::move(bytes)));
    return value;
  }
  Value *ints(llvm::ArrayRef<int32_t> elements) {
    return constant(TensorType::INT32, {static_cast<int32_t>(elements.size())}, elements);
  }
  Value *matrix(int32_t rows, int32_t columns, llvm::ArrayRef<int32_t> elements) {
    return constant(TensorType::INT32, {rows, columns}, elements);
  }
  Value *scalar(int32_t number) { return constant<int32_t>(TensorType::INT32, {}, number); }
  Value *longScalar(int64_t number) { return constant<int64_t>(TensorType::INT64, {}, number); }
  Value *floatScalar(float number) { return constant<float>(TensorType::FLOAT32, {}, number); }

  /// With `results` results of no stated shape.
  Operator &op(BuiltinOperator code, llvm::ArrayRef<Value *> operands, unsigned results = 1,
               TensorType type = TensorType::FLOAT32) {
    llvm::SmallVector<Value *> values;
    for (unsigned i = 0; i < results; ++i) {
      values.push_back(&model.addValue(graph));
      values.back()->type = type;
    }
    return model.addOperator(graph, code, operands, values);
  }

  /// Gives `op` an options table: `make` builds it, for example `circle::CreatePackOptions(b, 2, 0)`.
  template <class Make> Operator &with(Operator &op, Make make) {
    flatbuffers::FlatBufferBuilder &builder = builders.emplace_back();
    auto offset = make(builder);
    setMember(op, offset);
    builder.Finish(flatbuffers::Offset<flatbuffers::Table>(offset.o));
    op.options.table = flatbuffers::GetRoot<flatbuffers::Table>(builder.GetBufferPointer());
    return op;
  }

private:
  std::deque<flatbuffers::FlatBufferBuilder> builders;
  template <class T> static void setMember(Operator &op, flatbuffers::Offset<T>) {
    op.options.member = static_cast<uint8_t>(circle::BuiltinOptionsTraits<T>::enum_value);
  }
};

} // namespace origo::test
