#pragma once

#include "ir/Model.h"

namespace origo {

/// evaluate() for operators that only move elements. The stated shape of the result is trusted for its size and checked
/// against what is moved.
llvm::Expected<std::optional<Payload>> moveElements(const Operator &op, PayloadStore &store, const char *&why);

} // namespace origo
