#pragma once

#include "eval/fast/IntegerProduct.h"
#include "eval/fast/Xnnpack.h"
#include "eval/kernels/Channels.h"

/// Between quantised tensors and IntegerProduct.h.
namespace origo::eval {

/// The elements of a tensor as int16 without their zero point.
class IntegerRows {
public:
  /// For rows of `depth` elements.
  template <class T> const int16_t *of(const Tensor &tensor, int32_t zero, int64_t depth) {
    auto elements = dataOf<T>(tensor);
    if constexpr (std::is_same_v<T, int16_t>)
      if (depth % 2 == 0)
        return elements;
    int64_t count = tensor.count();
    reserve(count);
    for (int64_t i = 0; i < count; ++i)
      numbers[i] = static_cast<int16_t>(elements[i] - zero);
    return numbers.data();
  }
  /// Room for `count` of them, with the one more that rows of odd length need.
  int16_t *reserve(int64_t count) {
    numbers.resize(static_cast<size_t>(count) + 1);
    return numbers.data();
  }

private:
  std::vector<int16_t> numbers;
};

/// Weights of unsigned numbers are packed as what they are above 128.
template <class W> constexpr int32_t packedOffset = std::is_unsigned_v<W> ? 128 : 0;

/// Nothing where the reference kernel would refuse, or 16 bit numbers have a zero point.
template <class T, class Out>
std::optional<ChannelScales> scalesOf(const FastSite &site, const Tensor &input, int64_t channels,
                                      circle::ActivationFunctionType activation, ChannelScales::Product precision) {
  auto made = ChannelScales::of<Out>(site, input, site.input(1), site.output(), static_cast<int32_t>(channels),
                                     activation, precision);
  if (!made) {
    llvm::consumeError(made.takeError());
    return std::nullopt;
  }
  if ((std::is_same_v<T, int16_t> && made->inputZero != 0) || !made->filterZeros.empty())
    return std::nullopt;
  return *made;
}

/// What zero points of the weights add to each sum of a row: they times the row's sum.
template <class Sum> class ZeroPoints {
public:
  void set(const int16_t *numbers, int64_t rows, int64_t depth, int32_t zero) {
    sums.assign(static_cast<size_t>(rows), 0);
    if (zero == 0)
      return;
    for (Sum &sum : sums) {
      for (int64_t k = 0; k < depth; ++k)
        sum = wrappingAdd<Sum>(sum, *numbers++);
      sum = wrappingMul<Sum>(sum, zero);
    }
  }
  Sum operator[](int64_t row) const { return sums[static_cast<size_t>(row)]; }

private:
  std::vector<Sum> sums;
};

/// How the matrices of a stack lie in memory.
struct Stack {
  int64_t rows, columns, rowStep, columnStep;
  Stack(const Tensor &tensor, bool transposed)
      : rows(tensor.dim(tensor.rank() - 2)), columns(tensor.shape.back()), rowStep(columns), columnStep(1) {
    if (transposed) {
      std::swap(rows, columns);
      std::swap(rowStep, columnStep);
    }
  }
};

inline int8_t wholeNumber(int8_t number) { return number; }
/// number = 256 · upper + lower + 128
inline int8_t upperPart(int16_t number) { return static_cast<int8_t>(number >> 8); }
inline int8_t lowerPart(int16_t number) { return static_cast<int8_t>((number & 255) - 128); }

/// The right operand of BATCH_MATMUL, int8, or `part` of each number of another type. A constant of one matrix is
/// packed once.
template <class T> class RightMatrix {
public:
  bool transposed;
  RightMatrix(const FastSite &site, bool transposed, int8_t (*part)(T)) : transposed(transposed), part(part) {
    const Tensor *constant = site.constant(1);
    if (!constant || constant->rank() < 2 || constant->count() == 0 ||
        constant->count() != int64_t(constant->shape.back()) * constant->dim(constant->rank() - 2))
      return;
    pack(*constant, 0);
    known = true;
  }
  const PackedMatrix &packed(const Tensor &tensor, int64_t number) {
    if (!known)
      pack(tensor, number);
    return matrix;
  }

private:
  void pack(const Tensor &tensor, int64_t number) {
    Stack stack(tensor, transposed);
    const T *elements = dataOf<T>(tensor) + number * stack.rows * stack.columns;
    matrix.pack(stack.columns, 1, stack.rows, [&](int64_t column, int64_t, int64_t k) {
      return part(elements[k * stack.rowStep + column * stack.columnStep]);
    });
  }
  int8_t (*part)(T);
  bool known = false;
  PackedMatrix matrix;
};

} // namespace origo::eval
