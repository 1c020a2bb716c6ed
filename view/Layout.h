#pragma once

#include <cstdint>
#include <utility>
#include <vector>

/// Places for the nodes of a graph, so that a page need not look for them.
namespace origo::view {

/// Nodes are numbered so that edges lead from smaller to greater numbers; no edge is there twice.
struct LayoutGraph {
  uint32_t nodes = 0;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  /// The second is to stand below the first, and no line is drawn that needs a place.
  std::vector<std::pair<uint32_t, uint32_t>> below = {};
  std::vector<uint32_t> left = {}; ///< by node: room that it needs at its left besides; empty: none does
};

struct Layout {
  // In units of the page: a node is nodeWidth wide, and nodes of a row keep their distance.
  static constexpr int nodeWidth = 200, nodeGap = 24, laneGap = 16;
  static constexpr int besideWidth = 120; ///< of two small nodes, one upon the other, at the left of a node
  std::vector<uint32_t> row;              ///< by node; an edge leads to a greater one
  std::vector<int32_t> x;                 ///< by node, of its middle
  /// By edge: x in each row between its ends. Empty where there is none between, and where the edge is too long to be
  /// drawn as a line among others.
  std::vector<std::vector<int32_t>> routes;
  uint64_t looked = 0; ///< neighbours that were looked at: what it costs
};

/// Layers from above to below with few crossings. Time and memory are linear in nodes and edges, but for sorting: long
/// edges are not routed where there would be too many places to route them through.
Layout layOut(const LayoutGraph &graph);

} // namespace origo::view
