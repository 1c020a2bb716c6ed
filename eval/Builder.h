#pragma once

#include "eval/EvalError.h"
#include "ir/ConstantView.h"

#include <deque>

namespace origo::eval {

/// What a result is, where operands and options do not say it.
struct ResultAs {
  std::optional<TensorType> type = std::nullopt;
  std::optional<Quantization> quantization = std::nullopt;
};

/// Makes a graph operator by operator. Each call checks what it is given, and its error names operator and operand:
///
///   Builder b;
///   Value *x = b.input("x", TensorType::FLOAT32, {1, 4});
///   auto y = b.op(BuiltinOperator::RELU, {x}, "clamped");
///   auto model = b.finish({*y});
class Builder {
public:
  Builder();

  /// −1 in `shape`: known at run time only.
  Value *input(llvm::StringRef name, TensorType type, llvm::ArrayRef<int32_t> shape,
               std::optional<Quantization> quantization = {});
  /// An error if the bytes do not fill the shape.
  llvm::Expected<Value *> constant(llvm::StringRef name, TensorType type, llvm::ArrayRef<int32_t> shape,
                                   llvm::ArrayRef<uint8_t> bytes, std::optional<Quantization> quantization = {});
  template <class T>
  llvm::Expected<Value *> constant(llvm::StringRef name, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<T> elements) {
    return constant(name, tensorTypeOf<T>, shape,
                    {reinterpret_cast<const uint8_t *>(elements.data()), elements.size() * sizeof(T)});
  }

  /// The result of an operator without options, or with their defaults. `label` names it in messages and in the model.
  llvm::Expected<Value *> op(BuiltinOperator code, llvm::ArrayRef<Value *> operands, llvm::StringRef label,
                             const ResultAs &as = {});
  /// With options: `make` builds the table, for example
  /// `[](auto &b) { return circle::CreateSoftmaxOptions(b, 1.f); }`.
  template <class Make>
  requires std::invocable<Make, flatbuffers::FlatBufferBuilder &> llvm::Expected<Value *>
  op(BuiltinOperator code, llvm::ArrayRef<Value *> operands, llvm::StringRef label, Make make,
     const ResultAs &as = {}) {
    auto results = ops(code, operands, label, options(make), {as});
    if (!results)
      return results.takeError();
    return results->front();
  }
  /// With several results.
  llvm::Expected<llvm::SmallVector<Value *, 2>> ops(BuiltinOperator code, llvm::ArrayRef<Value *> operands,
                                                    llvm::StringRef label, Options options,
                                                    llvm::ArrayRef<ResultAs> as);
  template <class Make> Options options(Make make) {
    flatbuffers::FlatBufferBuilder &builder = tables.emplace_back();
    return finishOptions(builder, make(builder));
  }

  /// The model. The builder is used up; refused if a call went wrong.
  llvm::Expected<std::unique_ptr<Model>> finish(llvm::ArrayRef<Value *> outputs);

private:
  std::unique_ptr<Model> model;
  Subgraph *graph;
  std::deque<flatbuffers::FlatBufferBuilder> tables; ///< moved to the model
  llvm::SmallVector<Value *> inputs;
  unsigned operatorCount = 0;
  bool broken = false;

  Value *value(llvm::StringRef name, TensorType type, llvm::ArrayRef<int32_t> shape,
               const std::optional<Quantization> &quantization);
  template <class T>
  static Options finishOptions(flatbuffers::FlatBufferBuilder &builder, flatbuffers::Offset<T> table) {
    builder.Finish(flatbuffers::Offset<flatbuffers::Table>(table.o));
    return {static_cast<uint8_t>(circle::BuiltinOptionsTraits<T>::enum_value),
            flatbuffers::GetRoot<flatbuffers::Table>(builder.GetBufferPointer())};
  }
};

} // namespace origo::eval
