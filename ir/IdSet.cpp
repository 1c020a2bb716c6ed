#include "ir/IdSet.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace origo {

namespace {
/// The bits of `key` above `bit`.
uint32_t above(uint32_t key, uint32_t bit) { return key & ~(bit | (bit - 1)); }
uint64_t bitsOf(uint32_t low, uint32_t high) { return uint64_t(high) << 32 | low; }
/// The ids [begin, end) of one word; `end` is at most the end of the word.
uint64_t bitsBetween(uint32_t begin, uint32_t end) {
  uint64_t bits = ~uint64_t(0) << begin % 64;
  return end % 64 ? bits & ((uint64_t(1) << end % 64) - 1) : bits;
}
} // namespace

IdSets::IdSets() : nodes(1) {}

void IdSets::rehash(size_t size) {
  table = std::vector<uint32_t>(); // before there is another
  table.resize(size);
  for (uint32_t handle = 1; handle < nodes.size(); ++handle) {
    const Node &n = nodes[handle];
    if (n.bit == isFree)
      continue;
    size_t slot = llvm::hash_combine(n.prefix, n.bit, n.low, n.high) & (table.size() - 1);
    while (table[slot])
      slot = (slot + 1) & (table.size() - 1);
    table[slot] = handle;
  }
}

void IdSets::keepOnly(llvm::function_ref<void(llvm::function_ref<void(IdSet)>)> visit) {
  Walked used(nodes.size());
  llvm::SmallVector<uint32_t, 32> stack;
  size_t visited = 0;
  visit([&](IdSet set) {
    ++visited;
    stack.push_back(set.node);
    while (!stack.empty()) {
      uint32_t at = stack.pop_back_val();
      if (at & isSingle || used[at])
        continue;
      used[at] = true;
      if (const Node &n = nodes[at]; n.bit && n.bit != isRun) {
        assert(n.bit != isFree && "a set that was said to be unused");
        stack.push_back(n.low);
        stack.push_back(n.high);
      }
    }
  });
  inUse = 0;
  for (uint32_t handle = 1; handle < nodes.size(); ++handle)
    if (used[handle])
      ++inUse;
    else if (nodes[handle].bit != isFree)
      nodes[handle] = {0, isFree, std::exchange(firstFree, handle), 0};
  most = std::max<size_t>({1 << 15, inUse * 2, visited / 8}); // looking at all of them is paid by as many new ones
  rehash(llvm::bit_ceil(most * 4 / 3 + 1));
}

uint32_t IdSets::intern(Node node) {
  if (inUse * 4 >= table.size() * 3)
    rehash(llvm::bit_ceil(std::max<size_t>(64, inUse * 2)));
  size_t slot = llvm::hash_combine(node.prefix, node.bit, node.low, node.high) & (table.size() - 1);
  for (; table[slot]; slot = (slot + 1) & (table.size() - 1))
    if (nodes[table[slot]] == node)
      return table[slot];
  ++inUse;
  if (firstFree) {
    table[slot] = firstFree;
    firstFree = nodes[firstFree].low;
    nodes[table[slot]] = node;
  } else {
    table[slot] = nodes.size();
    nodes.push_back(node);
  }
  return table[slot];
}

IdSets::Run IdSets::runOf(uint32_t handle) const {
  if (handle & isSingle)
    return {handle & ~isSingle, (handle & ~isSingle) + 1};
  const Node &n = nodes[handle];
  assert(n.bit != isFree && "the set is gone");
  return n.bit == isRun ? Run{n.low, n.high} : Run{};
}

uint32_t IdSets::contiguous(uint32_t begin, uint32_t end) {
  assert(begin < end && end <= isSingle);
  return end - begin == 1 ? begin | isSingle : intern({0, isRun, begin, end});
}

uint32_t IdSets::bitmap(uint32_t key, uint64_t bits) {
  if (!bits)
    return 0;
  unsigned first = llvm::countr_zero(bits), last = 63 - llvm::countl_zero(bits);
  if (static_cast<unsigned>(llvm::popcount(bits)) == last - first + 1)
    return contiguous(key * 64 + first, key * 64 + last + 1);
  return intern({key, 0, uint32_t(bits), uint32_t(bits >> 32)});
}

uint32_t IdSets::branch(uint32_t prefix, uint32_t bit, uint32_t low, uint32_t high) {
  if (!low || !high)
    return low | high;
  Run a = runOf(low), b = runOf(high);
  if (a && b && a.end == b.begin)
    return contiguous(a.begin, b.end);
  return intern({prefix, bit, low, high});
}

/// The branch over two nodes with different keys.
uint32_t IdSets::fork(uint32_t a, uint32_t keyA, uint32_t b, uint32_t keyB) {
  uint32_t bit = llvm::bit_floor(keyA ^ keyB);
  if (keyA & bit)
    std::swap(a, b);
  return branch(above(keyA, bit), bit, a, b);
}

/// The node as the word or branch that it would be if runs were nothing special.
IdSets::Node IdSets::open(uint32_t handle) {
  Run run = runOf(handle);
  if (!run)
    return nodes[handle];
  uint32_t first = run.begin / 64, last = (run.end - 1) / 64;
  if (first == last) {
    uint64_t bits = bitsBetween(run.begin, run.end);
    return {first, 0, uint32_t(bits), uint32_t(bits >> 32)};
  }
  uint32_t bit = llvm::bit_floor(first ^ last), middle = (last & ~(bit - 1)) * 64;
  uint32_t low = contiguous(run.begin, middle);
  return {above(first, bit), bit, low, contiguous(middle, run.end)};
}

uint32_t IdSets::joinNodes(uint32_t a, uint32_t b) {
  if (a == b || !b)
    return a;
  if (!a)
    return b;
  if (Run p = runOf(a), q = runOf(b); p && q && p.begin <= q.end && q.begin <= p.end)
    return contiguous(std::min(p.begin, q.begin), std::max(p.end, q.end));
  Node x = open(a), y = open(b);
  if (x.bit < y.bit) {
    std::swap(a, b);
    std::swap(x, y);
  }
  if (x.bit == 0)
    return x.prefix == y.prefix ? bitmap(x.prefix, bitsOf(x.low, x.high) | bitsOf(y.low, y.high))
                                : fork(a, x.prefix, b, y.prefix);
  if (x.bit == y.bit && x.prefix == y.prefix) {
    uint32_t low = joinNodes(x.low, y.low);
    return branch(x.prefix, x.bit, low, joinNodes(x.high, y.high));
  }
  if (x.bit == y.bit || above(y.prefix, x.bit) != x.prefix)
    return fork(a, x.prefix, b, y.prefix);
  return y.prefix & x.bit ? branch(x.prefix, x.bit, x.low, joinNodes(x.high, b))
                          : branch(x.prefix, x.bit, joinNodes(x.low, b), x.high);
}

uint32_t IdSets::minusNodes(uint32_t a, uint32_t b) {
  if (a == b || !a)
    return 0;
  if (!b)
    return a;
  if (Run p = runOf(a), q = runOf(b); p && q) {
    if (q.end <= p.begin || p.end <= q.begin)
      return a;
    uint32_t before = p.begin < q.begin ? contiguous(p.begin, q.begin) : 0;
    uint32_t behind = q.end < p.end ? contiguous(q.end, p.end) : 0;
    return joinNodes(before, behind);
  }
  const Node x = open(a), y = open(b);
  if (x.bit == 0 && y.bit == 0)
    return x.prefix == y.prefix ? bitmap(x.prefix, bitsOf(x.low, x.high) & ~bitsOf(y.low, y.high)) : a;
  if (x.bit == y.bit) {
    if (x.prefix != y.prefix)
      return a;
    uint32_t low = minusNodes(x.low, y.low);
    return branch(x.prefix, x.bit, low, minusNodes(x.high, y.high));
  }
  if (x.bit > y.bit) {
    if (above(y.prefix, x.bit) != x.prefix)
      return a;
    return y.prefix & x.bit ? branch(x.prefix, x.bit, x.low, minusNodes(x.high, b))
                            : branch(x.prefix, x.bit, minusNodes(x.low, b), x.high);
  }
  if (above(x.prefix, y.bit) != y.prefix)
    return a;
  return minusNodes(a, x.prefix & y.bit ? y.high : y.low);
}

IdSet IdSets::of(llvm::ArrayRef<uint32_t> ids) {
  if (ids.size() <= 1)
    return ids.empty() ? IdSet{} : single(ids.front());
  // By halves: where ids ascend, no node is made that is not a part of the result or of a half.
  IdSet low = of(ids.take_front(ids.size() / 2));
  return join(low, of(ids.drop_front(ids.size() / 2)));
}

bool IdSets::contains(IdSet set, uint32_t id) const {
  uint32_t at = set.node, key = id / 64;
  while (at) {
    if (Run run = runOf(at))
      return run.begin <= id && id < run.end;
    const Node &n = nodes[at];
    if (!n.bit)
      return n.prefix == key && bitsOf(n.low, n.high) >> id % 64 & 1;
    at = key & n.bit ? n.high : n.low;
  }
  return false;
}

std::optional<uint32_t> IdSets::next(IdSet set, uint32_t from) const {
  if (set.empty())
    return std::nullopt;
  llvm::SmallVector<uint32_t, 32> stack{set.node};
  while (!stack.empty()) {
    uint32_t at = stack.pop_back_val();
    if (Run run = runOf(at)) {
      if (from < run.end)
        return std::max(from, run.begin);
      continue;
    }
    const Node &n = nodes[at];
    if (!n.bit) {
      uint64_t bits = bitsOf(n.low, n.high);
      if (n.prefix == from / 64)
        bits &= ~uint64_t(0) << from % 64;
      if (bits && n.prefix >= from / 64)
        return n.prefix * 64 + llvm::countr_zero(bits);
      continue;
    }
    stack.push_back(n.high);
    // All keys of the low half are below prefix + bit.
    if (from / 64 < n.prefix + n.bit)
      stack.push_back(n.low);
  }
  return std::nullopt;
}

void IdSets::forEach(IdSet set, llvm::function_ref<void(uint32_t)> visit) const {
  if (set.empty())
    return;
  llvm::SmallVector<uint32_t, 32> stack{set.node};
  while (!stack.empty()) {
    uint32_t at = stack.pop_back_val();
    if (Run run = runOf(at)) {
      for (uint32_t id = run.begin; id < run.end; ++id)
        visit(id);
      continue;
    }
    const Node n = nodes[at];
    if (n.bit) {
      stack.push_back(n.high);
      stack.push_back(n.low);
      continue;
    }
    for (uint64_t bits = bitsOf(n.low, n.high); bits; bits &= bits - 1)
      visit(n.prefix * 64 + llvm::countr_zero(bits));
  }
}

void IdSets::forEachNewRun(IdSet set, Walked &walked, llvm::function_ref<void(uint32_t, uint32_t)> visit) const {
  if (set.empty())
    return;
  if (walked.size() < nodes.size())
    walked.resize(nodes.size());
  llvm::SmallVector<uint32_t, 32> stack{set.node};
  while (!stack.empty()) {
    uint32_t at = stack.pop_back_val();
    if (!(at & isSingle)) {
      if (walked[at])
        continue;
      walked[at] = true;
    }
    if (Run run = runOf(at)) {
      visit(run.begin, run.end);
      continue;
    }
    const Node &n = nodes[at];
    if (n.bit) {
      stack.push_back(n.high);
      stack.push_back(n.low);
      continue;
    }
    for (uint64_t bits = bitsOf(n.low, n.high); bits;) {
      unsigned begin = llvm::countr_zero(bits), length = llvm::countr_one(bits >> begin);
      visit(n.prefix * 64 + begin, n.prefix * 64 + begin + length);
      bits &= ~bitsBetween(begin, begin + length);
    }
  }
}

llvm::SmallVector<uint32_t> IdSets::members(IdSet set) const {
  llvm::SmallVector<uint32_t> ids;
  forEach(set, [&](uint32_t id) { ids.push_back(id); });
  return ids;
}

} // namespace origo
