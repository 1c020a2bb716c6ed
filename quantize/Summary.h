#pragma once

#include "quantize/Calibrator.h"

#include <map>

namespace origo {
class Model;
}

namespace origo::quantize {

/// How what records had becomes one range for a tensor.
struct Summary {
  /// Of the extremes of records.
  enum class Mode {
    Percentile,    ///< of the least and of the greatest numbers of the records, in percent, linear between two of them
    MovingAverage, ///< over the extremes of batches of records, a ← (1 − constant)·a + constant·batch
  } mode = Mode::Percentile;
  double low = 1, high = 99;              ///< Percentile
  size_t batch = 16;                      ///< MovingAverage
  float constant = 0.1f;                  ///< MovingAverage
  const Calibrator *calibrator = nullptr; ///< takes the place of the mode
  double elements = 99.99;                ///< the calibrator `percentile`: of the magnitudes of elements, in percent
  unsigned steps = 255;                   ///< the calibrator `mse`: of what is to come

  bool needsHistograms() const { return calibrator && calibrator->histograms; }
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

/// Over the extremes of batches of records; a batch weighs `constant`, what was before it the rest.
Extremes movingAverage(const Statistics::Tensor &tensor, size_t batch, float constant);
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
