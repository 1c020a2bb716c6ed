#pragma once

#include "view/Joint.h"
#include "view/Page.h"

/// The graphs of a page, from files or from the listing in a map, with their places.
namespace origo::view {

/// What the two panes show of a subgraph, whether it comes from a file or from the listing in a map.
struct Graph {
  std::string name;
  std::vector<uint32_t> sources;
  std::vector<int32_t> inputs, outputs;
  struct Op {
    std::string kind, options;
    llvm::SmallVector<int32_t, 4> in, out; ///< −1: absent
    llvm::SmallVector<uint32_t, 1> calls;
    const report::OperatorMetrics *metrics = nullptr;
  };
  struct Tensor {
    llvm::StringRef name;
    std::string type, shape, quantization;
    origin::TensorKind kind = origin::TensorKind::Absent;
    const report::TensorMetrics *metrics = nullptr;
  };
  std::vector<Op> ops;
  std::vector<Tensor> tensors;

  PageGraph shape;
  JointLayout::Side layout;
  std::optional<JointLayout::Side> folded; ///< where some operators of the source are one node
  std::vector<std::vector<uint32_t>> groups;

  /// The name of the first result that has one.
  llvm::StringRef nameOf(size_t op) const {
    for (int32_t tensor : ops[op].out)
      if (tensor >= 0 && !tensors[tensor].name.empty())
        return tensors[tensor].name;
    return {};
  }

  /// The node that makes a tensor; −1: none does.
  std::vector<int32_t> makers() const;
  /// Makes `shape`.
  void connect();

private:
  void findHosts(const std::vector<int32_t> &maker);
};

std::vector<Graph> graphsOf(const PageModel &page);
/// As far as a map tells of a source that is not at hand.
std::vector<Graph> graphsOf(const origin::Listing &listing);

/// Both sides of a subgraph together. One whose source stands with another already has a layout of its own.
void layOutAll(std::vector<Graph> &source, std::vector<Graph> &result, const origin::OriginMap *map);

std::vector<origin::SourceSignature> signaturesOf(const Model &model);
/// With tensors as their subgraph numbers them.
std::vector<origin::SourceSignature> signaturesOf(const origin::Listing &listing);

/// With the digits that tell it from all other floats.
std::string shortestFloat(float value);
/// With the digits that a page shows.
std::string inShort(double value);

} // namespace origo::view
