#pragma once

#include "ir/Model.h"

#include <vector>

/// Which layers of a model that is quantised to 8 bits have 16.
namespace origo::quantize {

/// The operators of a subgraph that have 16 bits, by position.
using WideLayers = std::vector<bool>;

/// How far outputs are off where these layers have 16 bits and all others 8.
using MeasureWide = llvm::function_ref<llvm::Expected<double>(const WideLayers &wide)>;

struct MixedPrecision {
  WideLayers wide = {};
  double narrowError = 0, wideError = 0; ///< with 8 bits, with 16 bits everywhere
  double error = 0;
};

/// By position: the length of the longest way from an input; 1 for what only inputs and constants feed.
std::vector<unsigned> depthsOf(const Subgraph &graph);

/// All layers up to a depth (`front`), or from one on, have 16 bits: as few as bring the error below
/// wideError + ratio · |narrowError − wideError|, found by bisection of the depth. Where no cut does, all have. An
/// error: 16 bits are worse than 8.
llvm::Expected<MixedPrecision> bisectDepth(llvm::ArrayRef<unsigned> depths, bool front, double ratio,
                                           MeasureWide measure);

/// Variances of layer norms, and what softmax subtracts and exponentiates, where they are spelt out: parts that 8 bits
/// are too few for.
WideLayers layerNormVariances(const Subgraph &graph);
WideLayers softmaxExponents(const Subgraph &graph);

} // namespace origo::quantize
