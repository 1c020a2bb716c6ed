#pragma once

#include "ir/Model.h"

#include <limits>

namespace origo::eval {

using Shape = llvm::SmallVector<int32_t, 6>;

/// The largest number instead of one that does not fit. That happens beside a dimension of 0 only: other tensors were
/// allocated by their shape.
inline int64_t times(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

/// The product of the dimensions from `begin` up to `end`.
inline int64_t product(llvm::ArrayRef<int32_t> shape, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i)
    count = shape[i] == 0 ? 0 : times(count, shape[i]);
  return count;
}
inline int64_t product(llvm::ArrayRef<int32_t> shape) { return product(shape, 0, shape.size()); }

/// A tensor while a graph runs: the shape that it has now, and a view on its bytes. Elements are aligned to their size,
/// and little-endian as in files; a STRING is in TFLite's packed form.
class Tensor {
public:
  TensorType type = TensorType::FLOAT32;
  Shape shape;
  const Quantization *quantization = nullptr;
  const Value *value = nullptr; ///< what it stands for in the graph, for messages and for what is rare (sparsity)
  llvm::MutableArrayRef<uint8_t> storage;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t count() const { return product(shape); }
  int32_t dim(int axis) const { return shape[axis]; }

  template <class T> llvm::ArrayRef<T> as() const {
    return {reinterpret_cast<const T *>(storage.data()), storage.size() / sizeof(T)};
  }
  template <class T> llvm::MutableArrayRef<T> as() {
    return {reinterpret_cast<T *>(storage.data()), storage.size() / sizeof(T)};
  }
  llvm::ArrayRef<uint8_t> bytes() const { return as<uint8_t>(); }

  // Quantisation of the whole tensor; 1 and 0 for one that is not quantised.
  float scale() const { return quantization && !quantization->scale.empty() ? quantization->scale[0] : 1; }
  int32_t zeroPoint() const {
    return quantization && !quantization->zeroPoint.empty() ? static_cast<int32_t>(quantization->zeroPoint[0]) : 0;
  }
  bool perChannel() const { return quantization && quantization->scale.size() > 1; }
  /// Of one channel; of the whole tensor where there is only one scale.
  float scaleOf(size_t channel) const { return perChannel() ? quantization->scale[channel] : scale(); }
  int32_t zeroPointOf(size_t channel) const {
    return quantization && quantization->zeroPoint.size() > channel
               ? static_cast<int32_t>(quantization->zeroPoint[channel])
               : zeroPoint();
  }

  bool known = true;     ///< false: only the shape is
  bool rankKnown = true; ///< false: not even the shape; never so where a graph really runs
};

} // namespace origo::eval
