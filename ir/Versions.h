#pragma once

#include "ir/Model.h"

/// Versions of operators, and what they ask of a runtime.
namespace origo {

/// The lowest version that TFLite's rules give for the operator's options and types; 1 for one outside them.
int32_t lowestVersion(const Operator &op);
/// The first TensorFlow runtime (for example "1.14.0") that has this version of the operator; empty: not known.
llvm::StringRef runtimeOf(BuiltinOperator code, int32_t version);

} // namespace origo
