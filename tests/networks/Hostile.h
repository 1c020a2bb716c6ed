#pragma once

#include "llvm/ADT/StringRef.h"

/// Files that nobody should have made.
namespace origo::test {

/// Damages some of the networks in `folder`: `hostile/derived/NAME__WHAT`.
void writeHostile(const std::string &folder);

} // namespace origo::test
