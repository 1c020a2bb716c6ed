#pragma once

#include "eval/Kernels.h"

/// Kernels of operators that are no operators of the schema, by their names.
namespace origo::eval {

struct CustomKernelRow {
  llvm::StringRef customCode;
  KernelRow kernel; ///< its code is CUSTOM
};

struct CustomKernel {
  llvm::StringRef customCode;
  Kernel kernel;
};

llvm::ArrayRef<CustomKernel> allCustomKernels();

} // namespace origo::eval
