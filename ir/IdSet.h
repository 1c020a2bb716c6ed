#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace origo {

/// A set of source ids, interned: equal sets have equal handles. Its members are reached through the IdSets that made
/// it.
struct IdSet {
  uint32_t node = 0; ///< 0 is the empty set
  bool empty() const { return node == 0; }
  bool operator==(const IdSet &) const = default;
};

/// All sets of one model. A set is a hash-consed Patricia tree over words of 64 ids in which whatever has no gaps is
/// one node, so that joining a set of n ids with a small one costs O(log n) time and memory whatever the order in which
/// ids come, and next to nothing where neighbours are joined, which is the rule. Ids are below 2^31.
class IdSets {
public:
  IdSets();
  IdSet single(uint32_t id) { return {contiguous(id, id + 1)}; }
  IdSet range(uint32_t begin, uint32_t end) { return {begin < end ? contiguous(begin, end) : 0}; } ///< [begin, end)
  IdSet of(llvm::ArrayRef<uint32_t> ids);
  IdSet join(IdSet a, IdSet b) { return {joinNodes(a.node, b.node)}; }
  /// The members of `a` that are not in `b`.
  IdSet minus(IdSet a, IdSet b) { return {minusNodes(a.node, b.node)}; }
  bool contains(IdSet set, uint32_t id) const;
  std::optional<uint32_t> next(IdSet set, uint32_t from) const; ///< the smallest member that is not below `from`
  /// Calls `visit` for each member in ascending order.
  void forEach(IdSet set, llvm::function_ref<void(uint32_t)> visit) const;
  /// Subtrees that have been walked. Sets that grow step by step share nearly all of theirs.
  using Walked = std::vector<bool>;
  /// Calls `visit` for runs [begin, end) of members that cover at least what no earlier call with the same `walked`
  /// had.
  void forEachNewRun(IdSet set, Walked &walked, llvm::function_ref<void(uint32_t, uint32_t)> visit) const;
  llvm::SmallVector<uint32_t> members(IdSet set) const;
  /// Sets of before pile up where a set grows step by step. When they are as many as those that are used may be,
  /// whoever knows these says so: `visit` calls its argument with each set that is still somewhere. All others are gone
  /// then.
  bool crowded() const { return inUse >= most; }
  void keepOnly(llvm::function_ref<void(llvm::function_ref<void(IdSet)>)> visit);
  /// Nothing is joined for a while: what finds equal sets need not stay in memory.
  void rest() { table = std::vector<uint32_t>(); }
  size_t bytes() const { return nodes.size() * sizeof(Node) + table.size() * sizeof(uint32_t); }

private:
  /// A run holds the ids [low, high). A word (bit 0) holds 64 ids, `low` and `high` being the two halves of its bitmap;
  /// a branch on `bit` holds two nodes. Neither of the latter is used for what is a run. A set of one id has no node:
  /// it is the handle itself.
  struct Node {
    uint32_t prefix; ///< word: id / 64; branch: the bits of the key above `bit`
    uint32_t bit;
    uint32_t low, high;
    bool operator==(const Node &) const = default;
  };
  static constexpr uint32_t isSingle = 1u << 31, isRun = ~0u;
  std::deque<Node> nodes;                 ///< a vector would need twice the room while it grows
  std::vector<uint32_t> table;            ///< open addressing over `nodes`, 0 = free
  static constexpr uint32_t isFree = ~1u; ///< as `bit`; `low` is the next one
  uint32_t firstFree = 0;
  size_t inUse = 0, most = 1 << 15;

  struct Run {
    uint32_t begin = 0, end = 0;
    explicit operator bool() const { return begin < end; }
  };
  Run runOf(uint32_t handle) const; ///< none for what has gaps
  Node open(uint32_t handle);
  uint32_t intern(Node node);
  uint32_t contiguous(uint32_t begin, uint32_t end);
  uint32_t bitmap(uint32_t key, uint64_t bits);
  uint32_t branch(uint32_t prefix, uint32_t bit, uint32_t low, uint32_t high);
  uint32_t fork(uint32_t a, uint32_t keyA, uint32_t b, uint32_t keyB);
  uint32_t joinNodes(uint32_t a, uint32_t b);
  uint32_t minusNodes(uint32_t a, uint32_t b);
  void rehash(size_t size);
};

} // namespace origo
