#pragma once

#include "ir/Model.h"

/// The minima and maxima of quantisation parameters, which nobody needs once there are scales.
namespace origo::quantize {

/// Forgets all quantisation parameters of tensors of floats.
void clearParameters(Model &model);
/// Forgets minima and maxima.
void clearRanges(Model &model);

} // namespace origo::quantize
