#pragma once

#include "view/Layout.h"

/// One layout for both sides, so that what corresponds stands at one place.
namespace origo::view {

constexpr uint32_t nowhere = ~0u, several = nowhere - 1;

/// Nodes are inputs, operators and outputs, in this order; edges lead from smaller to greater numbers.
struct PageGraph {
  uint32_t inputs = 0, operators = 0, outputs = 0;
  std::vector<std::pair<uint32_t, uint32_t>> edges; ///< in the order of their ends
  /// By operator: the one that it stands beside, since it has nothing but constants; `nowhere`: it has a place of its
  /// own.
  std::vector<uint32_t> host;

  uint32_t nodes() const { return inputs + operators + outputs; }
};

/// Who is who, by numbers within the two graphs.
struct Pairing {
  std::vector<std::vector<uint32_t>> origins; ///< by operator of the result: of the source, ascending
  /// By operator of the source: the one that alone does its work; `nowhere`: none does it; `several`: more than one.
  std::vector<uint32_t> only;
};

struct JointLayout {
  struct Side {
    std::vector<uint32_t> row; ///< by node; what stands beside another, and what is folded, has the place of that
    std::vector<int32_t> x;
    /// By edge. Routed: x in each row between. Direct: as straight as the nodes of its side let it. Apart: too long for
    /// a line.
    enum class Line : uint8_t { Short, Routed, Direct, Apart };
    std::vector<Line> lines;
    std::vector<std::vector<int32_t>> routes;
  };
  Side source, result;
  std::vector<std::vector<uint32_t>> folded; ///< operators of the source that one of the result does the work of
};

/// `fold`: operators of the source that became one are one node, as far as no path leads out of them and back.
JointLayout layOutJointly(const PageGraph &source, const PageGraph &result, const Pairing &pairing, bool fold);

} // namespace origo::view
