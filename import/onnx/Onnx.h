#pragma once

#include "import/Import.h"
#include "import/onnx/Layers.h"

#include "llvm/ADT/StringMap.h"

namespace origo {

/// Does the file look like an ONNX model?
bool isOnnx(const MappedFile &file);

/// The prefix of the custom codes that nodes have: "onnx.Conv"; of other domains, "onnx.com.microsoft.Gelu".
inline constexpr llvm::StringLiteral onnxPrefix = "onnx.";

/// Maps an ONNX model and builds a graph of it: each node is an operator CUSTOM "onnx.OP", whose options are a
/// flexbuffer with the node's attributes and, as "$opset", the version of its operator set. Attributes that are tensors
/// are operands behind the others; the attribute is the operand's position then. Results have no type and no shape yet
/// (isUndetermined): lowering the operators (passes/onnx) tells. Constants stay slices of the file, and of the files
/// beside it that hold external data. Provenance is empty. Errors are ModelErrors that name the place; the caller names
/// the file. Inputs in `shapes` have that shape, which has to agree with what the file says. Metadata of the model is
/// kept, without paths of the machine that it was made on unless `lines` wants these.
using InputShapes = llvm::StringMap<llvm::SmallVector<int32_t, 4>>;
struct OnnxModel {
  std::unique_ptr<Model> model;
  OnnxLayers layers; ///< by operator
};
llvm::Expected<OnnxModel> importOnnx(std::shared_ptr<MappedFile> file, const InputShapes &shapes = {},
                                     SourceLines lines = SourceLines::Relative);

} // namespace origo
