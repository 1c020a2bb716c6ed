#pragma once

#include "import/Import.h"

namespace origo::commands {

/// Reads an ONNX model: its graph becomes the source, and its operators are replaced by those of circle. An error names
/// each operator that nothing stands for, and why. `shapes`: of inputs, NAME=1,3,224,224 each.
llvm::Expected<Imported> readOnnx(std::shared_ptr<MappedFile> file, PayloadStore &store,
                                  llvm::ArrayRef<std::string> shapes = {});

/// The graph as it is listed as the source: its nodes, before they are replaced.
llvm::Expected<Imported> readOnnxNodes(llvm::StringRef path);

} // namespace origo::commands
