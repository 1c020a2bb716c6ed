#pragma once

#include "ir/Model.h"

#include <deque>

namespace origo {

/// A tensor as a detached operator has it: a constant where it has a payload.
struct DetachedTensor {
  TensorType type = TensorType::FLOAT32;
  llvm::SmallVector<int32_t, 6> shape = {};
  Payload payload = {};
  const Quantization *quantization = nullptr;
  bool absent = false;

  /// A list of axes, sizes or the like.
  static DetachedTensor integers(llvm::ArrayRef<int32_t> elements);
};

/// An operator in no graph, with operands and results of its own. What constants are computed by: it stays as it is
/// whatever happens to the graph. Options and quantisations are not copied, they live as long as the model.
class DetachedOperator {
public:
  DetachedOperator(BuiltinOperator code, llvm::ArrayRef<DetachedTensor> operands,
                   llvm::ArrayRef<DetachedTensor> results, Options options = {}, Options options2 = {});
  /// A copy of one in a graph; of its operands, what is of use for computing.
  explicit DetachedOperator(const Operator &op);
  DetachedOperator(const DetachedOperator &) = delete;

  const Operator &get() const { return op; }
  Operator &get() { return op; }

private:
  Operator op;
  std::deque<Value> values;
  std::deque<Buffer> buffers;
  std::unique_ptr<char[]> uses;
  std::vector<Value *> results;

  Value &add(const DetachedTensor &tensor);
  void attach(llvm::ArrayRef<Value *> operands);
};

} // namespace origo
