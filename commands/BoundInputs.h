#pragma once

#include "eval/RunOperator.h"
#include "import/Import.h"
#include "import/onnx/Onnx.h"

/// Inputs of an ONNX model that are given once and for all: constants of all that is made of it.
namespace origo::commands {

using BoundTensors = std::vector<std::pair<std::string, eval::OwnedTensor>>;

/// Reads NAME=x.npy each. An error where a file is none, or a name is there twice.
llvm::Expected<BoundTensors> readBound(llvm::ArrayRef<std::string> texts);

/// Inputs have the shapes of what they are bound to.
llvm::Error takeShapes(const BoundTensors &bound, InputShapes &shapes);

/// Makes constants of the inputs of a model that is its own source, and notes so in its listing.
llvm::Error bindInputs(const BoundTensors &bound, Imported &imported);

} // namespace origo::commands
