#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemAlloc.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace origo {

/// The dimensions of a tensor in one pointer: to a length and as many numbers, which are its own or, as a flatbuffer
/// holds them, of a file that outlives it.
class Dims {
public:
  Dims() = default;
  Dims(const Dims &other) { *this = other.dims(); }
  Dims(Dims &&other) noexcept : word(std::exchange(other.word, 0)) {}
  Dims(std::initializer_list<int32_t> dims) { *this = llvm::ArrayRef<int32_t>(dims); }
  ~Dims() { clear(); }
  Dims &operator=(const Dims &other) { return this == &other ? *this : *this = other.dims(); }
  Dims &operator=(Dims &&other) noexcept {
    std::swap(word, other.word);
    return *this;
  }
  Dims &operator=(llvm::ArrayRef<int32_t> dims);
  Dims &operator=(std::initializer_list<int32_t> dims) { return *this = llvm::ArrayRef<int32_t>(dims); }
  /// `dims` stands behind its length, as in a flatbuffer, and outlives this.
  void view(llvm::ArrayRef<int32_t> dims) {
    clear();
    word = dims.empty() ? 0 : reinterpret_cast<uintptr_t>(dims.data() - 1);
  }
  void clear() {
    if (word & own)
      std::free(lengthAndDims());
    word = 0;
  }
  /// A tensor of unknown size is written as of size 1, and said to be unknown in its shape signature.
  void unknownToOne();

  size_t size() const { return word ? lengthAndDims()[0] : 0; }
  bool empty() const { return size() == 0; }
  const int32_t *begin() const { return word ? lengthAndDims() + 1 : nullptr; }
  const int32_t *end() const { return begin() + size(); }
  int32_t operator[](size_t i) const { return begin()[i]; }
  int32_t front() const { return *begin(); }
  int32_t back() const { return end()[-1]; }
  llvm::ArrayRef<int32_t> dims() const { return {begin(), size()}; }
  operator llvm::ArrayRef<int32_t>() const { return dims(); }
  template <unsigned N> operator llvm::SmallVector<int32_t, N>() const { return {begin(), end()}; }
  friend bool operator==(const Dims &a, const Dims &b) { return a.dims() == b.dims(); }
  friend bool operator==(const Dims &a, llvm::ArrayRef<int32_t> b) { return a.dims() == b; }

private:
  static constexpr uintptr_t own = 1;
  uintptr_t word = 0; ///< the lowest bit: its own
  int32_t *lengthAndDims() const { return reinterpret_cast<int32_t *>(word & ~own); }
};

inline Dims &Dims::operator=(llvm::ArrayRef<int32_t> dims) {
  int32_t *room = nullptr;
  if (!dims.empty()) { // copied before its own go: they may be the same
    room = static_cast<int32_t *>(llvm::safe_malloc((dims.size() + 1) * sizeof(int32_t)));
    room[0] = static_cast<int32_t>(dims.size());
    std::memcpy(room + 1, dims.data(), dims.size() * sizeof(int32_t));
  }
  clear();
  word = room ? reinterpret_cast<uintptr_t>(room) | own : 0;
  return *this;
}

inline void Dims::unknownToOne() {
  if (empty())
    return;
  *this = dims(); // those of a file stay as they are
  std::replace(lengthAndDims() + 1, lengthAndDims() + 1 + size(), -1, 1);
}

} // namespace origo
