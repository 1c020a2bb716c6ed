#pragma once

#include "eval/kernels/Hybrid.h"

/// The numbers that HybridRows makes of floats, in vectors.
namespace origo::eval {

/// The least and the greatest number, and 0.
std::pair<float, float> rangeWithZero(const float *values, int64_t count);

/// Whole numbers without the zero point.
void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, float *out);
void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, int16_t *out);
/// With it.
void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, int8_t *out);

} // namespace origo::eval
