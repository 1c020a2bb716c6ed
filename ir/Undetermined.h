#pragma once

#include "ir/Model.h"

namespace origo {

/// A result whose type and shape nobody has worked out yet, as operators of another format have it until they are
/// lowered. What takes its place tells.
inline bool isUndetermined(const Value &value) { return value.type == TensorType::VARIANT && !value.hasShape; }
inline void makeUndetermined(Value &value) {
  value.type = TensorType::VARIANT;
  value.hasShape = false;
}

} // namespace origo
