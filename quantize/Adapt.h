#pragma once

#include "ir/StoragePlan.h"
#include "quantize/Calibrate.h"

namespace origo::quantize {

struct Scheme;

/// What records tell of the weights of a linear operator: their scales, what to add to them so that each becomes the
/// one or the other of the integers beside it, and what to add to the bias.
struct Adapted {
  std::vector<float> scales;
  Summand weights;
  std::optional<Summand> bias;
};
using Adaptations = llvm::DenseMap<const Operator *, Adapted>;

/// Rounds the weights of one operator after the other, each so that what the quantised network gives it makes the least
/// of the errors of what the float one computes there: so it makes up for the errors of those before it (Frantar et
/// al., GPTQ, 2022; Li et al., GPTAQ, 2025; coordinate descent as Behdin et al., QuantEase, 2023, for each scale of
/// several; the mean goes to the bias). Operators that are not here have no products, or lie in graphs that others
/// call. `choices`: those of the scheme that ask for it.
llvm::Expected<Adaptations> adaptRoundings(Model &model, OpenRecords open, const Scheme &scheme,
                                           const std::function<void(uint64_t done, uint64_t all)> &progress);

} // namespace origo::quantize
