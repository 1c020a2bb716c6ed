#include "ir/IdSet.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/bit.h"

#include <cassert>
#include <utility>

namespace origo {

namespace {
/// The bits of `key` above `bit`.
uint32_t above(uint32_t key, uint32_t bit) { return key & ~(bit | (bit - 1)); }
uint64_t word(uint32_t low, uint32_t high) { return uint64_t(high) << 32 | low; }
} // namespace

IdSets::IdSets() : nodes(1), table(64) {}

void IdSets::grow() {
  std::vector<uint32_t> old(table.size() * 2);
  std::swap(table, old);
  for (uint32_t handle : old) {
    if (!handle)
      continue;
    const Node &n = nodes[handle];
    size_t slot = llvm::hash_combine(n.prefix, n.bit, n.low, n.high) & (table.size() - 1);
    while (table[slot])
      slot = (slot + 1) & (table.size() - 1);
    table[slot] = handle;
  }
}

uint32_t IdSets::intern(Node node) {
  if (nodes.size() * 2 > table.size())
    grow();
  size_t slot = llvm::hash_combine(node.prefix, node.bit, node.low, node.high) & (table.size() - 1);
  for (; table[slot]; slot = (slot + 1) & (table.size() - 1))
    if (nodes[table[slot]] == node)
      return table[slot];
  table[slot] = nodes.size();
  nodes.push_back(node);
  return table[slot];
}

uint32_t IdSets::leaf(uint32_t key, uint64_t bits) {
  return bits ? intern({key, 0, uint32_t(bits), uint32_t(bits >> 32)}) : 0;
}

/// The branch over two nodes with different keys.
uint32_t IdSets::branch(uint32_t a, uint32_t b) {
  if (!a || !b)
    return a | b;
  uint32_t ka = nodes[a].prefix, kb = nodes[b].prefix;
  uint32_t bit = llvm::bit_floor(ka ^ kb);
  if (ka & bit)
    std::swap(a, b);
  return intern({above(ka, bit), bit, a, b});
}

uint32_t IdSets::rebuild(const Node &node, uint32_t low, uint32_t high) {
  if (!low || !high)
    return low | high;
  return intern({node.prefix, node.bit, low, high});
}

uint32_t IdSets::joinNodes(uint32_t a, uint32_t b) {
  if (a == b || !b)
    return a;
  if (!a)
    return b;
  if (nodes[a].bit < nodes[b].bit)
    std::swap(a, b);
  const Node x = nodes[a], y = nodes[b]; // interning moves `nodes`
  if (x.bit == 0)
    return x.prefix == y.prefix ? leaf(x.prefix, word(x.low, x.high) | word(y.low, y.high)) : branch(a, b);
  if (x.bit == y.bit && x.prefix == y.prefix) {
    uint32_t low = joinNodes(x.low, y.low);
    return rebuild(x, low, joinNodes(x.high, y.high));
  }
  if (x.bit == y.bit || above(y.prefix, x.bit) != x.prefix)
    return branch(a, b);
  return y.prefix & x.bit ? rebuild(x, x.low, joinNodes(x.high, b)) : rebuild(x, joinNodes(x.low, b), x.high);
}

uint32_t IdSets::minusNodes(uint32_t a, uint32_t b) {
  if (a == b || !a)
    return 0;
  if (!b)
    return a;
  const Node x = nodes[a], y = nodes[b];
  if (x.bit == 0 && y.bit == 0)
    return x.prefix == y.prefix ? leaf(x.prefix, word(x.low, x.high) & ~word(y.low, y.high)) : a;
  if (x.bit == y.bit) {
    if (x.prefix != y.prefix)
      return a;
    uint32_t low = minusNodes(x.low, y.low);
    return rebuild(x, low, minusNodes(x.high, y.high));
  }
  if (x.bit > y.bit) {
    if (above(y.prefix, x.bit) != x.prefix)
      return a;
    return y.prefix & x.bit ? rebuild(x, x.low, minusNodes(x.high, b)) : rebuild(x, minusNodes(x.low, b), x.high);
  }
  if (above(x.prefix, y.bit) != y.prefix)
    return a;
  return minusNodes(a, x.prefix & y.bit ? y.high : y.low);
}

IdSet IdSets::single(uint32_t id) { return {leaf(id / 64, uint64_t(1) << id % 64)}; }

IdSet IdSets::range(uint32_t begin, uint32_t end) {
  uint32_t set = 0;
  while (begin < end) {
    uint32_t key = begin / 64, stop = end < (uint64_t(key) + 1) * 64 ? end : (key + 1) * 64;
    uint64_t bits = ~uint64_t(0) << begin % 64;
    if (stop % 64)
      bits &= (uint64_t(1) << stop % 64) - 1;
    set = joinNodes(set, leaf(key, bits));
    begin = stop;
  }
  return {set};
}

IdSet IdSets::of(llvm::ArrayRef<uint32_t> ids) {
  uint32_t set = 0;
  for (uint32_t id : ids)
    set = joinNodes(set, single(id).node);
  return {set};
}

IdSet IdSets::join(IdSet a, IdSet b) { return {joinNodes(a.node, b.node)}; }
IdSet IdSets::minus(IdSet a, IdSet b) { return {minusNodes(a.node, b.node)}; }

bool IdSets::contains(IdSet set, uint32_t id) const {
  uint32_t at = set.node, key = id / 64;
  if (!at)
    return false;
  while (nodes[at].bit)
    at = key & nodes[at].bit ? nodes[at].high : nodes[at].low;
  const Node &n = nodes[at];
  return n.prefix == key && word(n.low, n.high) >> id % 64 & 1;
}

void IdSets::forEach(IdSet set, llvm::function_ref<void(uint32_t)> visit) const {
  if (set.empty())
    return;
  llvm::SmallVector<uint32_t, 32> stack{set.node};
  while (!stack.empty()) {
    const Node n = nodes[stack.pop_back_val()];
    if (n.bit) {
      stack.push_back(n.high);
      stack.push_back(n.low);
      continue;
    }
    for (uint64_t bits = word(n.low, n.high); bits; bits &= bits - 1)
      visit(n.prefix * 64 + llvm::countr_zero(bits));
  }
}

llvm::SmallVector<uint32_t> IdSets::members(IdSet set) const {
  llvm::SmallVector<uint32_t> ids;
  forEach(set, [&](uint32_t id) { ids.push_back(id); });
  return ids;
}

} // namespace origo
