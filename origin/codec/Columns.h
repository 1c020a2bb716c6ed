#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// The byte columns of schema/origin_map.fbs, which says what is in them.
namespace origo::origin {

inline constexpr uint32_t embeddedVersion = 1;
/// Of what stands in the place of a map that is deflated in an entry of its own.
inline constexpr uint32_t deflatedVersion = 2;

class ColumnWriter {
public:
  void number(uint64_t value) {
    uint8_t buffer[10];
    bytes.append(reinterpret_cast<char *>(buffer), llvm::encodeULEB128(value, buffer));
  }
  void real(double value) {
    auto bits = std::bit_cast<std::array<char, 8>>(value);
    bytes.append(bits.data(), bits.size());
  }
  void difference(int64_t value) { number((uint64_t(value) << 1) ^ uint64_t(value >> 63)); }
  void text(llvm::StringRef text) {
    number(text.size());
    bytes.append(text.data(), text.size());
  }
  /// As difference to `next`, which then is the one behind it.
  void id(uint32_t id, uint32_t &next) {
    difference(int64_t(id) - next);
    next = id + 1;
  }
  void ids(llvm::ArrayRef<uint32_t> list, uint32_t &next) {
    number(list.size());
    for (uint32_t item : list)
      id(item, next);
  }
  void idsFrom(uint32_t next, llvm::ArrayRef<uint32_t> list) { ids(list, next); }

  std::string bytes;
};

/// What occurs often, as a column of its own and numbers that stand for it.
class Interner {
public:
  uint32_t number(llvm::StringRef item) {
    if ((ends.size() + 1) * 4 > slots.size() * 3)
      grow();
    size_t slot = slotOf(item);
    if (!slots[slot]) {
      items.append(item.data(), item.size());
      ends.push_back(items.size());
      slots[slot] = static_cast<uint32_t>(ends.size());
    }
    return slots[slot] - 1;
  }
  size_t bytes() const { return items.size(); }
  /// The count, then the items; nothing is left.
  std::string takeColumn() {
    ColumnWriter count;
    count.number(ends.size());
    slots = {};
    ends = {};
    return count.bytes + std::exchange(items, {});
  }

private:
  std::string items;
  std::vector<size_t> ends;    ///< of the items
  std::vector<uint32_t> slots; ///< open addressing: the number of an item and 1, or 0

  llvm::StringRef item(uint32_t number) const {
    size_t begin = number ? ends[number - 1] : 0;
    return llvm::StringRef(items).slice(begin, ends[number]);
  }
  size_t slotOf(llvm::StringRef wanted) const {
    size_t slot = llvm::xxh3_64bits(wanted) & (slots.size() - 1);
    while (slots[slot] && item(slots[slot] - 1) != wanted)
      slot = (slot + 1) & (slots.size() - 1);
    return slot;
  }
  void grow() {
    slots.assign(std::max<size_t>(64, slots.size() * 2), 0);
    for (uint32_t i = 0; i < ends.size(); ++i)
      slots[slotOf(item(i))] = i + 1;
  }
};

/// What is common to the columns of one map while they are read: has anything been wrong, and how much memory may what
/// they say still take? Without the latter a few bytes could name a long string over and over.
struct ReadState {
  uint64_t left = 0;
  bool failed = false;

  bool charge(uint64_t size) {
    if (size > left)
      failed = true;
    else
      left -= size;
    return !failed;
  }
};

/// Reads a column. Once anything has been wrong all that comes is zeroes and empty lists.
class ColumnReader {
public:
  ColumnReader(llvm::ArrayRef<uint8_t> bytes, ReadState &state)
      : at(bytes.data()), end(bytes.data() + bytes.size()), state(state) {}

  bool failed() const { return state.failed; }
  bool done() const { return at == end; }
  size_t remaining() const { return end - at; }
  void fail() { state.failed = true; }

  uint64_t number() {
    if (state.failed || at == end)
      return fail(), 0;
    unsigned size = 0;
    const char *error = nullptr;
    uint64_t value = llvm::decodeULEB128(at, &size, end, &error);
    if (error)
      return fail(), 0;
    at += size;
    return value;
  }
  uint32_t number32() {
    uint64_t value = number();
    if (value > std::numeric_limits<uint32_t>::max())
      return fail(), 0;
    return value;
  }
  /// Of items of which each takes at least a byte in this column and `size` bytes once read.
  size_t count(size_t size) {
    uint64_t value = number();
    if (value > remaining() || !state.charge(value * size))
      return fail(), 0;
    return value;
  }
  int64_t difference() {
    uint64_t value = number();
    return int64_t(value >> 1) ^ -int64_t(value & 1);
  }
  uint32_t id(uint32_t &next) {
    int64_t gap = difference();
    if (gap < -int64_t(next) || gap > int64_t(std::numeric_limits<uint32_t>::max()) - int64_t(next))
      return fail(), 0;
    uint32_t result = int64_t(next) + gap;
    next = result + 1;
    return result;
  }
  std::vector<uint32_t> ids(uint32_t &next) {
    std::vector<uint32_t> result(count(sizeof(uint32_t)));
    for (uint32_t &item : result)
      item = id(next);
    return result;
  }
  std::vector<uint32_t> idsFrom(uint32_t next) { return ids(next); }
  llvm::StringRef text() {
    uint64_t size = number();
    if (size > remaining())
      return fail(), llvm::StringRef();
    llvm::StringRef result(reinterpret_cast<const char *>(at), size);
    at += size;
    return result;
  }
  uint8_t byte() {
    if (state.failed || at == end)
      return fail(), 0;
    return *at++;
  }
  double real() {
    std::array<uint8_t, 8> bits;
    for (uint8_t &one : bits)
      one = byte();
    return std::bit_cast<double>(bits);
  }

private:
  const uint8_t *at, *end;
  ReadState &state;
};

} // namespace origo::origin
