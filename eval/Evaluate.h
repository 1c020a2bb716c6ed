#pragma once

#include "ir/Model.h"

namespace origo {

/// Computes the only result of an operator from its constant operands, as TFLite's reference kernels do, bit for bit.
/// None, with the reason in `why`: there is no kernel for these types, an operand is not constant, or a number of it
/// has no defined result (a float out of the integer's range). Big results are made window by window in `store`.
llvm::Expected<std::optional<Payload>> evaluate(const Operator &op, PayloadStore &store, const char *&why);

/// Operators that evaluate() has a kernel for.
llvm::ArrayRef<BuiltinOperator> evaluableOperators();

} // namespace origo
