#pragma once

#include "ir/Model.h"

namespace origo {

/// Which of two operators of a subgraph is first. What a rewrite makes has the index of what it replaces.
bool comesBefore(const Operator &a, const Operator &b);

/// Those that use a value, in their order in the subgraph: that of the uses themselves tells what earlier rewrites did,
/// which a file does not.
llvm::SmallVector<Operator *, 4> usersInOrder(const Value &value);

} // namespace origo
