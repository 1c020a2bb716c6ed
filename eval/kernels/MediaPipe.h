#pragma once

#include "eval/FixedPoint.h"
#include "eval/Kernel.h"

/// What both engines know of MediaPipe's custom operators. Tensors are [batch, height, width, channels].
namespace origo::eval {

/// The struct of pooling: padding, strides, and, but for convolutions, the window and what is done to results.
struct MediaPipePool {
  enum class Padding { Same = 1, Valid = 2 };
  Padding padding;
  int64_t strideY, strideX, height = 1, width = 1;
  circle::ActivationFunctionType activation = circle::ActivationFunctionType::NONE;

  /// Of a convolution: 3 numbers. Of pooling and back: 6 and 5.
  static llvm::Expected<MediaPipePool> of(const KernelContext &ctx, size_t count);
};

/// What a transposed convolution does along one axis.
struct TransposedAxis {
  int64_t in, stride, size; ///< of the image, and of the filter
  bool same;

  /// What windows reach beyond the result.
  int64_t cut() const { return same && in > 0 ? std::max<int64_t>(0, size - (in - 1) % stride - 1) : 0; }
  int64_t before() const { return cut() / 2; }
  int64_t result() const { return in == 0 ? 0 : stride * (in - 1) + size - cut(); }
};

} // namespace origo::eval
