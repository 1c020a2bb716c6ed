#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace origo {

/// A set of source ids, interned: equal sets have equal handles. Its members are reached through the IdSets that made it.
struct IdSet {
  uint32_t node = 0; ///< 0 is the empty set
  bool empty() const { return node == 0; }
  bool operator==(const IdSet &) const = default;
};

/// All sets of one model. A set is a hash-consed Patricia tree over words of 64 ids, so that joining a set of n ids
/// with a small one costs O(log n) time and memory whatever the order in which ids come, and shares the rest.
class IdSets {
public:
  IdSets();
  IdSet single(uint32_t id);
  IdSet range(uint32_t begin, uint32_t end); ///< [begin, end)
  IdSet of(llvm::ArrayRef<uint32_t> ids);
  IdSet join(IdSet a, IdSet b);
  /// The members of `a` that are not in `b`.
  IdSet minus(IdSet a, IdSet b);
  bool contains(IdSet set, uint32_t id) const;
  /// Calls `visit` for each member in ascending order.
  void forEach(IdSet set, llvm::function_ref<void(uint32_t)> visit) const;
  llvm::SmallVector<uint32_t> members(IdSet set) const;
  size_t bytes() const { return nodes.size() * sizeof(Node) + table.size() * sizeof(uint32_t); }

private:
  /// A leaf (bit 0) holds 64 ids, `low` and `high` being the two halves of its bitmap; a branch on `bit` holds two nodes.
  struct Node {
    uint32_t prefix; ///< leaf: id / 64; branch: the bits of the key above `bit`
    uint32_t bit;    ///< 0: leaf
    uint32_t low, high;
    bool operator==(const Node &) const = default;
  };
  std::vector<Node> nodes;
  std::vector<uint32_t> table; ///< open addressing over `nodes`, 0 = free

  uint32_t intern(Node node);
  uint32_t leaf(uint32_t key, uint64_t bits);
  uint32_t branch(uint32_t a, uint32_t b);
  uint32_t rebuild(const Node &node, uint32_t low, uint32_t high);
  uint32_t joinNodes(uint32_t a, uint32_t b);
  uint32_t minusNodes(uint32_t a, uint32_t b);
  void grow();
};

} // namespace origo
