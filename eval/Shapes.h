#pragma once

#include "eval/Kernel.h"

/// Which elements of operands and results belong together, by their shapes.
namespace origo::eval {

/// How many elements one step along each dimension is, for a dense tensor.
inline llvm::SmallVector<int64_t, 6> stridesOf(llvm::ArrayRef<int32_t> shape) {
  llvm::SmallVector<int64_t, 6> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0; step = times(step, shape[i]))
    strides[i] = step;
  return strides;
}

/// Goes through the elements of `shape` in order and tells, for operands that broadcast to it, which of their elements
/// belongs there: `for (Broadcast at(shape, {a, b}); !at.done(); at.next()) use(at.index(0), at.index(1))`.
class Broadcast {
public:
  Broadcast(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<llvm::ArrayRef<int32_t>> operands)
      : shape(shape.begin(), shape.end()), position(shape.size(), 0), left(product(shape)) {
    for (llvm::ArrayRef<int32_t> operand : operands) {
      auto strides = stridesOf(operand);
      llvm::SmallVector<int64_t, 6> steps(shape.size(), 0);
      size_t offset = shape.size() - operand.size();
      for (size_t i = 0; i < operand.size(); ++i)
        steps[offset + i] = operand[i] == 1 ? 0 : strides[i];
      all.push_back({0, std::move(steps)});
    }
  }
  bool done() const { return left == 0; }
  int64_t index(size_t operand) const { return all[operand].index; }
  void next() {
    --left;
    for (size_t d = shape.size(); d-- > 0;) {
      bool wraps = ++position[d] == shape[d];
      for (Operand &operand : all)
        operand.index += wraps ? -operand.steps[d] * (shape[d] - 1) : operand.steps[d];
      if (!wraps)
        return;
      position[d] = 0;
    }
  }

private:
  struct Operand {
    int64_t index;
    llvm::SmallVector<int64_t, 6> steps;
  };
  Shape shape, position;
  llvm::SmallVector<Operand, 3> all;
  int64_t left;
};

/// How far the first one of `count` windows along a dimension begins before its first element.
inline int64_t paddingBefore(int64_t length, int64_t count, int64_t size, int64_t stride, int64_t dilation = 1) {
  return std::max<int64_t>(0, (count - 1) * stride + (size - 1) * dilation + 1 - length) / 2;
}

} // namespace origo::eval
