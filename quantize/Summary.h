#pragma once

#include "quantize/Statistics.h"

#include <map>

namespace origo {
class Model;
}

namespace origo::quantize {

/// How what records had becomes one range for a tensor.
struct Summary {
  enum class Mode {
    // Of the extremes of records.
    Percentile,    ///< of the least and of the greatest numbers of the records, in percent, linear between two of them
    MovingAverage, ///< over the extremes of batches of records, a ← (1 − constant)·a + constant·batch
    MinMax,        ///< the least and the greatest of all
    Ema,           ///< over records in their order, a ← 0.95·a + 0.05·record
    // Of elements. A clip c of magnitudes makes the range [max(min, −c), min(max, c)].
    Elements, ///< such that `elements` percent of all lie within
    Mse,      ///< with the least mean square of what rounding to `steps` steps, and clipping, does to them
    Entropy,  ///< after which a distribution of 128 steps diverges least from what was (Kullback-Leibler)
  } mode = Mode::Percentile;
  double low = 1, high = 99; ///< Percentile
  size_t batch = 16;         ///< MovingAverage
  float constant = 0.1f;     ///< MovingAverage
  double elements = 99.99;   ///< Elements
  unsigned steps = 255;      ///< Mse

  static bool needsHistograms(Mode mode) { return mode >= Mode::Elements; }
};

/// One for all tensors, and others for some by name.
struct Summaries {
  Summary all = {};
  std::map<std::string, Summary, std::less<>> named = {};
  const Summary &of(llvm::StringRef tensor) const {
    auto own = named.find(tensor);
    return own == named.end() ? all : own->second;
  }
};

/// The range of a tensor over all records; empty if none computed a number.
Extremes summarise(const Statistics::Tensor &tensor, const Summary &summary);

/// Refuses statistics of another model.
llvm::Error checkStatistics(Model &model, const Statistics &statistics);

/// Writes the ranges into the model, as the minimum and maximum of the tensors' quantisation parameters. Refused:
/// statistics of another model, ones without the histograms that a summary needs, a name that no tensor has, and where
/// no result has a range. Adds the tensors that no record gave finite numbers, and which have no range then, to
/// `silent`.
llvm::Error setRanges(Model &model, const Statistics &statistics, const Summaries &summaries,
                      std::vector<std::string> &silent);
/// Says so, of one or more.
std::string withoutRange(llvm::ArrayRef<std::string> silent);

} // namespace origo::quantize
