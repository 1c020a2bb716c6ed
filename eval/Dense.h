#pragma once

#include "ir/Model.h"

namespace origo {

/// A constant of elements of whole bytes in one dense block that fills its shape.
bool isDense(const Value *value);

} // namespace origo
