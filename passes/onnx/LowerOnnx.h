#pragma once

#include "passes/Pass.h"

namespace origo {

/// Replaces the operators of an ONNX graph (import/onnx) by those of circle. It is no pass of the table: a model has
/// gone through it before anybody else sees it.
const Pass &lowerOnnx();

/// Is there a lowering of such nodes? `name`: of the operator, with its domain where that is not ai.onnx.
bool isLoweredFromOnnx(llvm::StringRef name);

} // namespace origo
