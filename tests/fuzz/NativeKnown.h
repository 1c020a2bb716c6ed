#pragma once

#include "tests/fuzz/FuzzRun.h"

/// What is known of TensorFlow Lite as it was in 2022, and no fault of ours: by operator, never by model.
namespace origo::fuzz {

/// Why its numbers need not be ours; empty: they must be.
llvm::StringRef incomparable(const Operator &op, const Run &reference);

/// Why it may refuse what we compute, or compute what we refuse; empty: it must not. By what is said of it.
llvm::StringRef mayRefuse(llvm::StringRef refused);
llvm::StringRef mayCompute(llvm::StringRef refused);

} // namespace origo::fuzz
