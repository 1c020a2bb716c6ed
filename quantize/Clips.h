#pragma once

#include "quantize/Histogram.h"

/// Ranges that leave out what is far away, chosen by how many elements lie where. `all` is the range of all elements.
/// Steps of a quantised tensor are taken to have zero among them, as ours have.
namespace origo::quantize {

Extremes clipByShare(const Histogram &histogram, Extremes all, double percent);
Extremes clipByError(const Histogram &histogram, Extremes all, unsigned steps);
Extremes clipByEntropy(const Histogram &histogram, Extremes all);

/// The mean square of what rounding to a range does, and clipping.
double meanSquare(const Histogram &histogram, Extremes all, Extremes range, unsigned steps);

} // namespace origo::quantize
