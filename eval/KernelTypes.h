#pragma once

#include "eval/Kernels.h"

namespace origo::eval {

/// What a row says of one operand or result.
struct TypeSlot {
  llvm::SmallVector<TensorType> types;
  bool same = false, optional = false;
  bool accepts(const Value *value, const Value *first) const;
};

/// The types of a row, read.
struct TypeList {
  llvm::SmallVector<TypeSlot, 4> operands, results;
  bool operandsRepeat = false, resultsRepeat = false;
};
/// For each of allKernels().
llvm::ArrayRef<TypeList> kernelTypes();

} // namespace origo::eval
