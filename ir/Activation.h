#pragma once

#include "ir/Model.h"

namespace origo {

/// What is fused into an operator; NONE where its options have no such field.
circle::ActivationFunctionType activationOf(const Operator &op);

} // namespace origo
