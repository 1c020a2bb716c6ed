#pragma once

#include "eval/fast/Convolution.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Vectors.h"

/// Convolutions of floats of our own, for AVX2 and AVX-512. They need neither tables of pointers nor checks for each
/// pixel (Regions.h), keep more sums in registers than XNNPACK's and take any padding.
namespace origo::eval {

/// Null: not for this processor, or not for such a convolution.
std::unique_ptr<FastKernel> floatConvolution(const Conv &conv, std::pair<float, float> range);
std::unique_ptr<FastKernel> floatDepthwise(const Conv &conv, std::pair<float, float> range);

/// Likewise, and not where it would take longer than `floatConvolution` for results of that shape, which each run may
/// have another one of. Reads the operand with the filter, too.
std::unique_ptr<FastKernel> winogradConvolution(const Conv &conv, std::pair<float, float> range,
                                                llvm::ArrayRef<int32_t> result, std::shared_ptr<Block> scratch);

/// Threads divide the larger one, the image or the weights: each reads the other one whole. A thread keeps its part of
/// the weights from run to run, in its own cache. Where that holds all weights, threads divide the image if it has
/// pixels for them: what one has computed, it reads again in the next operator.
inline bool dividesWeights(int64_t image, int64_t weights, int64_t pixels) {
  constexpr int64_t weightsInCache = 1 << 16, fewPixels = 16;
  return image < weights && (weights > weightsInCache || pixels < fewPixels);
}

} // namespace origo::eval
