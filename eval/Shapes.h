#pragma once

#include "eval/Kernel.h"

/// How shapes of operands and results belong together.
namespace origo::eval {

/// NumPy's broadcasting; nothing if the shapes do not broadcast.
inline std::optional<Shape> broadcastShape(llvm::ArrayRef<int32_t> a, llvm::ArrayRef<int32_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape shape(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int32_t &dim = shape[offset + i];
    if (dim == 1)
      dim = b[i];
    else if (b[i] != 1 && b[i] != dim)
      return std::nullopt;
  }
  return shape;
}

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

/// A window that slides along one dimension: how often it fits, and how far it begins before the first element.
struct Window {
  int64_t count = 0, before = 0;
};
/// Nothing for impossible numbers.
inline std::optional<Window> slide(circle::Padding padding, int64_t length, int64_t size, int64_t stride,
                                   int64_t dilation = 1) {
  if (stride <= 0 || dilation <= 0 || size <= 0)
    return std::nullopt;
  int64_t extent = (size - 1) * dilation + 1;
  int64_t count =
      padding == circle::Padding::SAME ? (length + stride - 1) / stride : (length + stride - extent) / stride;
  if (count < 0 || count > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return Window{count, std::max<int64_t>(0, (count - 1) * stride + extent - length) / 2};
}

} // namespace origo::eval
