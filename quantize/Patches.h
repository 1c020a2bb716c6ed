#pragma once

#include "ir/Model.h"

namespace origo::quantize {

/// Which elements of its input an operator of constant float weights multiplies with them: a row of weights has as many
/// inputs, at each position of the result. Rows that have the same inputs are a group: one, those of a convolution's
/// groups, or one for each channel of a depthwise one.
class Patches {
public:
  /// CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV of a constant size, and FULLY_CONNECTED.
  static bool fit(const Operator &op);
  explicit Patches(const Operator &op);
  size_t length() const { return size; }
  size_t groups() const { return count; }

  /// Which element of the input a weight sees: `length` of them, of `results` along an axis. -1: none, which counts as
  /// 0.
  struct Axis {
    int64_t length, results, stride, dilation, before;
    bool transposed;
    int64_t at(int64_t result, int64_t weight) const {
      if (transposed) {
        int64_t place = result + before - weight;
        return place >= 0 && place % stride == 0 && place / stride < length ? place / stride : -1;
      }
      int64_t place = result * stride - before + weight * dilation;
      return place < length ? std::max<int64_t>(place, -1) : -1;
    }
  };
  /// The positions over an input of some shape.
  class Positions {
  public:
    uint64_t count() const { return all; }
    /// The inputs of a group's rows at one of them.
    void read(const float *x, uint64_t position, size_t group, llvm::MutableArrayRef<float> patch) const;

  private:
    friend class Patches;
    const Patches *patches = nullptr;
    Axis vertical{}, horizontal{};
    int64_t channels = 0;
    uint64_t all = 0;
  };
  Positions over(llvm::ArrayRef<int32_t> shape) const;

private:
  /// How a convolution goes over its input; a product of matrices is one of 1 × 1.
  struct Window {
    int64_t height = 1, width = 1, strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
    bool padded = false; ///< so that there is a result for each stride
  };
  const Operator &op;
  bool transposed;
  int64_t inGroup = 1; ///< channels of the input that a row of weights has
  size_t size = 0, count = 1;
  Window window;

  template <class Options> static Window windowOf(const Operator &op);
  Axis axis(unsigned dimension, int64_t length, int64_t size, int64_t stride, int64_t dilation) const;
};

/// Weights by output channel: all that one element of the result is a sum of, in the order of its inputs.
struct WeightRows {
  WeightRows(const Operator &op, size_t length, size_t groups);
  size_t length, count, along = 1, across = 1, perGroup;
  size_t at(size_t row, size_t i) const { return row * across + i * along; }
};

/// The floats of weights and biases, and constants of such.
std::vector<float> floatsOf(const Payload &payload);
Payload payloadOf(llvm::ArrayRef<float> numbers);

} // namespace origo::quantize
