#pragma once

#include "ir/Model.h"

namespace origo {

/// Computes the results of an operator from its constant operands, as TFLite's reference kernels do. Empty, with the
/// reason in `why`: there is no kernel for these types, an operand is not constant, it takes too long, or a number has
/// no defined result (a float out of the integer's range). What only moves, widens or repeats elements is made window by
/// window in `store`, so that big weights need no memory.
llvm::Expected<llvm::SmallVector<Payload, 1>> evaluate(const Operator &op, PayloadStore &store, const char *&why);

} // namespace origo
