#pragma once

#include "eval/Kernel.h"

/// Operators of types that C++ does not have: operands become tensors of a wider type, the kernel for that type
/// computes, and what it computes is rounded once.
namespace origo::eval {

/// Floats of 16 or 8 bits as float32, integers of 4 or 2 bits as those of 8. Results become the nearest numbers of
/// their type.
llvm::Error computeWider(KernelContext &ctx);

/// Quantised operands as the real numbers that they stand for, in float32: how ONE's quantiser means integers that no
/// runtime has a kernel for. Results are quantised.
llvm::Error computeInReals(KernelContext &ctx);

/// Rows of operators of narrow types, one for each of these that has the wider type.
std::vector<KernelRow> widerKernels(llvm::ArrayRef<KernelRow> rows);

} // namespace origo::eval
