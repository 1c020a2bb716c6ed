#pragma once

#include "passes/Pass.h"

namespace origo {

/// Replaces the operators of an ONNX graph (import/onnx) by those of circle. It is no pass of the table: a model has
/// gone through it before anybody else sees it.
const Pass &lowerOnnx();

} // namespace origo
