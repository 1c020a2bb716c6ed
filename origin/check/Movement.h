#pragma once

#include "origin/check/Graph.h"

namespace origo::origin {

/// Operators of a file that follow each other, each with one operand that is no constant: does the result of the last
/// one have the shape of what the first one is given, and its elements in the same order?
bool movesNothing(const FileGraph &file, llvm::ArrayRef<uint32_t> way);

} // namespace origo::origin
