#pragma once

#include "quantize/Calibrate.h"

#include "llvm/ADT/DenseMap.h"

namespace origo::quantize {

/// What the inputs of a linear operator's weights are, over records and positions. A weight's input is the element that
/// it is multiplied with; of a convolution, 0 where that lies outside of the image, or, transposed, between two
/// elements of it.
struct InputMoments {
  /// Rows of weights that have the same inputs: one, one for each group of a convolution, or for each channel of a
  /// depthwise one.
  struct Group {
    std::vector<double> sum;      ///< by weight of a row
    std::vector<double> products; ///< of two inputs; the lower triangle, row by row. Empty: not asked for, or too many
  };
  std::vector<Extremes> channels; ///< of what the weights are multiplied with
  uint64_t count = 0;             ///< positions that the sums are over
  std::vector<Group> groups;
};

/// By operators of constant float weights.
using Moments = llvm::DenseMap<const Operator *, InputMoments>;

/// More inputs of a weights' row than this have no products, nor have groups that add up to more: they would take 128
/// MB, and minutes.
constexpr uint64_t mostProducts = 4096;

/// Runs the model on records. `products`: those too, of up to 256 positions a record and operator, evenly spread.
/// Memory: for each operator the square of its row of weights. The operators of CONV_2D, DEPTHWISE_CONV_2D,
/// TRANSPOSE_CONV of a constant size, and FULLY_CONNECTED, those of them that are `wanted`.
llvm::Expected<Moments> collectMoments(
    Model &model, OpenRecords open, const CalibrateOptions &options, bool products,
    llvm::function_ref<bool(const Operator &)> wanted = [](const Operator &) { return true; });

} // namespace origo::quantize
