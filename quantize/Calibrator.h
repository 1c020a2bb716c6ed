#pragma once

#include "quantize/Statistics.h"

namespace origo::quantize {

struct Summary;

/// A way to choose the range of a tensor from what records had, all of it and not only the extremes of each record.
struct Calibrator {
  llvm::StringLiteral name, help;
  bool histograms; ///< asks how many elements lie where
  /// `all`, which is not empty, is the range of all elements.
  Extremes (*range)(const Statistics::Tensor &tensor, Extremes all, const Summary &summary);
};

/// In the order in which they are tried for a tensor. The first of those that do equally well is taken.
llvm::ArrayRef<Calibrator> calibrators();
/// Null: none is called so.
const Calibrator *findCalibrator(llvm::StringRef name);

} // namespace origo::quantize
