#pragma once

#include "ir/ConstantView.h"

namespace origo {

/// What an operator's rule says of one result. −1 is a dimension that is not known before run time.
struct ResultType {
  TensorType type;
  llvm::SmallVector<int32_t, 4> shape;
  bool rankKnown = true; ///< false: the shape is not known at all
};

/// An operator whose results are to be shaped, and what is known of its operands. In a graph that is what the model
/// states, and the elements of constants; an engine (eval/Kernel.h) knows the shapes and the elements of its run.
class ShapeSite {
public:
  explicit ShapeSite(const Operator &op) : op(op) {}
  virtual ~ShapeSite() = default;
  const Operator &op;

  unsigned numOperands() const { return op.numOperands(); }
  const Value *operand(unsigned i) const { return op.operand(i); }
  const Value *result(unsigned i = 0) const { return op.result(i); }
  llvm::ArrayRef<Value *> results() const { return op.results(); }
  /// FLOAT32 where the operand is absent.
  TensorType type(unsigned operand) const;
  /// −1 for each dimension that is not known; nothing if the operand is absent or its rank is not known.
  virtual std::optional<llvm::SmallVector<int32_t, 4>> shape(unsigned operand) const;
  /// All elements of an operand of integers (of any width), for example axes and sizes; nothing if they are not known.
  std::optional<llvm::SmallVector<int64_t, 8>> values(unsigned operand) const;
  /// Its only element.
  std::optional<int64_t> value(unsigned operand) const;
  /// The same of T's type.
  template <class T> std::optional<T> number(unsigned operand) const {
    auto known = type(operand) == tensorTypeOf<T> ? bytes(operand) : std::nullopt;
    if (!known || known->size() != sizeof(T))
      return std::nullopt;
    return elementsOf<T>(*known).front();
  }

  /// The options table. A table that is absent reads as one in which all fields have their defaults.
  template <class T> const T &options() const {
    return *reinterpret_cast<const T *>(
        tableOf(op.options, static_cast<uint8_t>(circle::BuiltinOptionsTraits<T>::enum_value)));
  }
  /// The same for a table of BuiltinOptions2.
  template <class T> const T &options2() const {
    return *reinterpret_cast<const T *>(
        tableOf(op.options2(), static_cast<uint8_t>(circle::BuiltinOptions2Traits<T>::enum_value)));
  }

  /// The operator cannot be like this.
  virtual llvm::Error fail(const llvm::Twine &message) const;

protected:
  /// The elements of an operand, if they are known.
  virtual std::optional<llvm::ArrayRef<uint8_t>> bytes(unsigned operand) const;

private:
  static const flatbuffers::Table *tableOf(const Options &options, uint8_t member);
};

/// Shapes and types of all results from operands and options. An error means that the operator contradicts its rule
/// (for example operands that do not broadcast). An empty vector: there is no rule, or it needs values that are not
/// known.
llvm::Expected<llvm::SmallVector<ResultType, 2>> inferResults(const ShapeSite &op);
inline llvm::Expected<llvm::SmallVector<ResultType, 2>> inferResults(const Operator &op) {
  return inferResults(ShapeSite(op));
}

} // namespace origo
