#pragma once

#include "import/onnx/Reader.h"
#include "origin/OriginMap.h"

/// What exporters write beside an ONNX graph: of which layer a node is, and which line of a program called it.
namespace origo {

/// How paths of programs are told. Relative: those of packages from `site-packages` on, others from the folder that
/// they have in common; so no name of a machine or a person is in them.
enum class SourceLines : uint8_t { None, Relative, Full };

/// As origin::Listing has them.
struct OnnxLayers {
  std::vector<std::shared_ptr<const origin::SourceLayer>> layers; ///< by operator, of one graph after the other
  std::vector<std::string> files;
  std::vector<origin::SourceFrame> frames;
  std::vector<std::vector<uint32_t>> stacks;
};

namespace onnx {

/// Of the nodes of some graphs, in this order.
OnnxLayers layersOf(llvm::ArrayRef<std::pair<const GraphProto *, std::vector<size_t>>> graphs, SourceLines lines);

/// The text without paths that name a machine's folders, of which "…" is left. Was any there?
bool cutPaths(std::string &text);

} // namespace onnx
} // namespace origo
