#pragma once

#include "ir/Model.h"

namespace origo {

/// evaluate() for operators that make elements which no operand has in that number: Pad, Fill, Range, Rank, ZerosLike.
llvm::Expected<std::optional<Payload>> fillElements(const Operator &op, PayloadStore &store, const char *&why);

} // namespace origo
