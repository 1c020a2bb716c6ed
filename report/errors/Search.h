#pragma once

#include "report/errors/Errors.h"

#include "llvm/ADT/StringMap.h"

namespace origo::report {

/// What a set of layers makes of the output error.
using MeasureLayers = llvm::function_ref<llvm::Expected<double>(const Layers &layers)>;

struct LayerSet {
  std::vector<const Operator *> layers; ///< the most blamed first
  double before = 0, error = 0;         ///< of the outputs, with none of them and with all
  unsigned runs = 0;                    ///< times that something was measured
};

/// The fewest layers, tried in this order, that bring the error to `bound` when the source does their work: as many of
/// the most blamed as are needed, by bisection, which holds where more layers never make it worse; then each is left
/// out again whose absence does no harm. At most `mostRuns` measurements. An error: all of them do not suffice.
llvm::Expected<LayerSet> fewestLayers(llvm::ArrayRef<const Operator *> blamed, const Pairs &pairs, double bound,
                                      unsigned mostRuns, MeasureLayers measure);

/// What visq wrote of the first subgraph, in ONE's form: errors by the names of tensors.
llvm::Expected<llvm::StringMap<double>> readVisq(llvm::StringRef json);

/// The config of circle-quantizer that keeps them float.
std::string floatConfig(llvm::ArrayRef<const Operator *> layers);

} // namespace origo::report
