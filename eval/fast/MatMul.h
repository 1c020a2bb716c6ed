#pragma once

#include "eval/fast/Fast.h"

#include <limits>

namespace origo::eval {

/// How a matrix lies in memory: element (row, column) is at row · rowStep + column · columnStep.
struct FloatMatrix {
  const float *data;
  int64_t rowStep, columnStep;
};

/// The right matrix of products, as they read it.
class PackedFloats {
public:
  void pack(const FloatMatrix &right, int64_t depth, int64_t columns);
  /// out = left · this + bias (may be null), clamped; rows of `out` are behind each other.
  void multiply(const FloatMatrix &left, int64_t rows, const float *bias, float *out, pthreadpool_t threads,
                float low = -std::numeric_limits<float>::infinity(),
                float high = std::numeric_limits<float>::infinity()) const;

private:
  int64_t depth = 0, columns = 0;
  std::vector<float> packed;
};

} // namespace origo::eval
