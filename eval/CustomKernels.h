#pragma once

#include "eval/Kernel.h"

/// Kernels of operators that are no operators of the schema, by their names.
namespace origo::eval {

struct CustomKernelRow {
  llvm::StringRef customCode;
  KernelRow kernel; ///< its code is CUSTOM
};

llvm::ArrayRef<CustomKernelRow> allCustomKernels();

} // namespace origo::eval
