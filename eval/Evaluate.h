#pragma once

#include "ir/Model.h"

namespace origo {

/// Computes the results of an operator from its constant operands, as TFLite's reference kernels do. The operator may
/// be one of a graph or a detached one. Empty, with the reason in `why`: there is no kernel for these types, an operand
/// is not constant, it takes too long, or a number has no defined result (a float out of the integer's range).
///
/// What is elementwise, or goes through the elements of one operand at steps, is computed when somebody reads it: an
/// elementwise operator of computed operands is one computation, as long as a window takes few (Payload::maxCost). What
/// is small, or any other operator, is computed at once, big results on the disk of `store`.
llvm::Expected<llvm::SmallVector<Payload, 1>> evaluate(const Operator &op, PayloadStore &store, const char *&why);

/// Whether `holds(a, b, result)` is true for each element of an elementwise operator of two constants, all of float32.
/// Goes through them once, and stops where it is not. False, too, if the operator is not such.
bool everyElement(const Operator &op, llvm::function_ref<bool(float a, float b, float result)> holds);

} // namespace origo
