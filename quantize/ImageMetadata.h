#pragma once

#include "eval/Session.h"

namespace origo::quantize {

/// (pixel − mean) / deviation, one number or one for each channel.
struct Normalization {
  std::vector<float> mean, deviation;
};

/// What the model's own TFLITE_METADATA says of an input. None: nothing, or nothing that can be.
std::optional<Normalization> normalizationOf(const eval::Port &input);

} // namespace origo::quantize
