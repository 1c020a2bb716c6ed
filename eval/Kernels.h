#pragma once

#include "eval/Kernel.h"

namespace origo::eval {

/// All kernels, ordered by operator.
llvm::ArrayRef<KernelRow> allKernels();

/// The kernel for an operator by the types of its operands and results; null: none.
const KernelRow *findKernel(const Operator &op);

/// The types of an operator as a row would spell them, for messages and work lists.
std::string typesOf(const Operator &op);

/// Operators that are no kernels because they run subgraphs.
bool isControlFlow(BuiltinOperator code);

/// A line for each kernel: operator, a tab, types. What the engine can run, control flow included.
std::string supportTable();

} // namespace origo::eval
