#pragma once

#include "origin/check/Graph.h"

/// Which operators of a source model come before which.
namespace origo::origin {

/// The source graph backwards: an operator's predecessors compute its operands, or are the subgraphs it calls. Each
/// subgraph adds two nodes, its entry (whatever its callers hand in) and its exit (whatever it returns), so that a path
/// may lead through a call.
class SourceOrder {
public:
  explicit SourceOrder(const FileGraph &file);

  uint32_t nodeCount() const { return static_cast<uint32_t>(first.size() - 1); }
  llvm::ArrayRef<uint32_t> predecessors(uint32_t node) const {
    return llvm::ArrayRef(edges).slice(first[node], first[node + 1] - first[node]);
  }
  /// Every node once; a predecessor stands before its successors wherever the graph has no cycle.
  llvm::ArrayRef<uint32_t> order() const { return sequence; }
  bool cyclic() const { return hasCycle; }
  /// A quick proof that a path leads from `before` to `after` (or that they are one). False proves nothing.
  bool surelyReaches(uint32_t before, uint32_t after) const {
    return opened[after] <= opened[before] && opened[before] < closed[after];
  }

  /// A question: does a path lead from one of the operators of group `group` to one of the nodes of row `row`?
  struct Question {
    uint32_t group, row;
    bool answer = false;
  };
  /// Answers all of them exactly. `members` and `ends` call their visitor with the nodes of a group and of a row.
  using Nodes = llvm::function_ref<void(uint32_t, llvm::function_ref<void(uint32_t)>)>;
  void answer(llvm::MutableArrayRef<Question> questions, Nodes members, Nodes ends) const;

private:
  std::vector<uint32_t> first, edges;   ///< predecessor lists
  std::vector<uint32_t> sequence;       ///< nodes in post-order of a backward search
  std::vector<uint32_t> opened, closed; ///< the search's tree as intervals
  bool hasCycle = false;
  void walk();
};

} // namespace origo::origin
