#pragma once

#include "schema/OperatorTable.h"

namespace origo {

/// What is known of an operator of ONNX without lowering it.
struct OnnxOperator {
  llvm::StringLiteral name;     ///< in ai.onnx
  circle::BuiltinOperator like; ///< the operator of circle that has its traits
  /// By operand, as in Operators.def: '#' states a shape, '=' does so where no element is left out, 't' a type, which
  /// is always known; '.' none of these. Those behind the end are '.'.
  llvm::StringLiteral operands;

  bool isMarked(size_t operand, char mark) const { return operand < operands.size() && operands[operand] == mark; }
};

/// `code`: of a custom operator, "onnx.Reshape". Null: no operator of ONNX, or one of which nothing is known.
const OnnxOperator *findOnnxOperator(llvm::StringRef code);

} // namespace origo
