#pragma once

#include "eval/fast/Convolution.h"
#include "eval/fast/Processor.h"

/// Convolutions of 8 bit numbers of our own, where the processor multiplies four unsigned bytes by four signed ones and
/// adds the products up (AVX-512 VNNI). Like those of floats they need no tables of pointers (Regions.h).
namespace origo::eval {

/// One sign for both types: images are taken as unsigned and weights as signed, those of the other type 128 higher or
/// lower, and zero points with them.
struct Bytes {
  uint8_t imageFlip, weightFlip;
  int32_t imageZero, weightZero, resultZero;
  float inputScale, outputScale;
  float low, high; ///< without the zero point

  Bytes(const Conv &conv, const Tensor &in, const Tensor &out, std::pair<int, int> range) {
    bool isSigned = in.type == TensorType::INT8;
    imageFlip = isSigned ? 128 : 0;
    weightFlip = isSigned ? 0 : 128;
    imageZero = in.zeroPoint() + (isSigned ? 128 : 0);
    weightZero = conv.filter->zeroPoint() - (isSigned ? 0 : 128);
    resultZero = out.zeroPoint();
    inputScale = in.scale();
    outputScale = out.scale();
    low = static_cast<float>(range.first - resultZero);
    high = static_cast<float>(range.second - resultZero);
  }
  /// As XNNPACK rounds it.
  float scale(const Conv &conv, int64_t channel) const {
    return inputScale * conv.filter->scaleOf(static_cast<int32_t>(channel)) / outputScale;
  }
};

/// For depth multipliers of 1.
std::unique_ptr<FastKernel> byteDepthwise(const Conv &conv, const Bytes &bytes);

} // namespace origo::eval
