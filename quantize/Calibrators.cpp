#include "quantize/Calibrator.h"

#include "quantize/Clips.h"
#include "quantize/Summary.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::quantize {

using Tensor = Statistics::Tensor;

static constexpr Calibrator rows[] = {
    {"minmax", "the least and the greatest of all", false,
     [](const Tensor &, Extremes all, const Summary &) { return all; }},
    {"ema", "0.95 of what was and 0.05 of the next record, in the order of records", false,
     [](const Tensor &tensor, Extremes, const Summary &) { return movingAverage(tensor, 1, 0.05f); }},
    {"percentile", "holds a share of all elements, by magnitude", true,
     [](const Tensor &tensor, Extremes all, const Summary &summary) {
       return clipByShare(tensor.histogram, all, summary.elements);
     }},
    {"mse", "rounding to what is to come, and clipping, makes the least mean square", true,
     [](const Tensor &tensor, Extremes all, const Summary &summary) {
       return clipByError(tensor.histogram, all, summary.steps);
     }},
    {"entropy", "what is left in 128 steps diverges least from what was (Kullback-Leibler)", true,
     [](const Tensor &tensor, Extremes all, const Summary &) { return clipByEntropy(tensor.histogram, all); }},
};

llvm::ArrayRef<Calibrator> calibrators() { return rows; }

const Calibrator *findCalibrator(llvm::StringRef name) {
  const auto *found = llvm::find_if(rows, [&](const Calibrator &one) { return one.name == name; });
  return found == std::end(rows) ? nullptr : found;
}

} // namespace origo::quantize
