#pragma once

#include "ir/Model.h"

namespace origo {

/// Lowest and highest multiple of the scale that a tensor of int8, uint8 or int16 with one scale can be; none of other
/// tensors, and where a multiple is not a float.
std::optional<std::pair<int64_t, int64_t>> storedRange(const Value &value);

} // namespace origo
