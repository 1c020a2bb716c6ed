#pragma once

#include "import/Import.h"
#include "import/onnx/Layers.h"
#include "origin/Files.h"
#include "origin/check/Violation.h"

namespace origo::commands {

/// What is said of a model beside its file.
struct OnnxReading {
  llvm::ArrayRef<std::string> shapes = {}; ///< of inputs, NAME=1,3,224,224 each
  llvm::ArrayRef<std::string> bound = {};  ///< inputs that become constants, NAME=x.npy each
  SourceLines lines = SourceLines::Relative;
};

/// Reads an ONNX model: its graph becomes the source, and its operators are replaced by those of circle. An error names
/// each operator that nothing stands for, and why.
llvm::Expected<Imported> readOnnx(std::shared_ptr<MappedFile> file, PayloadStore &store,
                                  const OnnxReading &reading = {});

inline constexpr llvm::StringLiteral linesFromHelp =
    "Take names and modules of nodes and lines of programs from this file, of which the ONNX model was stripped";
/// Names, modules and lines of nodes as the ONNX file `from` tells them, which has the graph of `source`: what was
/// stripped of its traces has them again. An error where it is another graph.
llvm::Error takeLines(origin::Listing &source, llvm::StringRef from, SourceLines lines = SourceLines::Relative);
llvm::Error takeLines(Imported &imported, llvm::StringRef from, SourceLines lines = SourceLines::Relative);

/// Where a map says other things of layers and lines than the model that its source is, or than `linesFrom` says, which
/// may be empty. Lines may be left out, and be relative or whole. `skipped` takes what could not be judged.
llvm::Expected<std::vector<origin::Violation>> checkLayers(const origin::OriginMap &map, llvm::StringRef source,
                                                           llvm::StringRef linesFrom,
                                                           std::vector<std::string> &skipped);
/// The same where the source is no ONNX model, of the lines in its `debug_metadata`.
std::vector<origin::Violation> checkDebugLines(const origin::OriginMap &map, const origin::ModelFile &source);

/// The graph as it is listed as the source: its nodes, before they are replaced.
llvm::Expected<Imported> readOnnxNodes(llvm::StringRef path, SourceLines lines = SourceLines::Relative);

} // namespace origo::commands
