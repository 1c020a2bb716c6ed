#pragma once

#include "ir/Model.h"

namespace origo::rewrite {

/// Constants of 256 bytes and more with the same bytes get one buffer, in whatever subgraph they stand and whatever
/// their types are: so weights of several signatures stay one buffer, and what a model becomes depends on what it
/// holds, not on the runs before. An error: there is no room for the bytes of one that is computed.
llvm::Error shareEqualBuffers(Model &model);

} // namespace origo::rewrite
