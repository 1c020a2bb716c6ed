#pragma once

#include "ir/Model.h"

namespace origo {

/// What an operator's rule says of one result. −1 is a dimension that is not known before run time.
struct ResultType {
  TensorType type;
  llvm::SmallVector<int32_t, 4> shape;
  bool rankKnown = true; ///< false: the shape is not known at all
};

/// Shapes and types of all results from operands and options. An error means that the operator contradicts its rule
/// (for example operands that do not broadcast). An empty vector: there is no rule, or it needs values that are not
/// constant.
llvm::Expected<llvm::SmallVector<ResultType, 2>> inferResults(const Operator &op);

} // namespace origo
