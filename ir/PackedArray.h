#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemAlloc.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace origo {

/// Elements in one pointer: to a length and as many elements, which are its own or, as a flatbuffer holds them, of a
/// file that outlives it. A copy of a view is a view.
template <class T> class PackedArray {
public:
  PackedArray() = default;
  PackedArray(const PackedArray &other) { *this = other; }
  PackedArray(PackedArray &&other) noexcept : word(std::exchange(other.word, 0)) {}
  PackedArray(llvm::ArrayRef<T> elements) { *this = elements; }
  ~PackedArray() { clear(); }
  PackedArray &operator=(const PackedArray &other) {
    if (other.word & own)
      return *this = other.elements();
    clear();
    word = other.word;
    return *this;
  }
  PackedArray &operator=(PackedArray &&other) noexcept {
    std::swap(word, other.word);
    return *this;
  }
  PackedArray &operator=(llvm::ArrayRef<T> elements);
  /// `elements` stands behind its length, as in a flatbuffer, and outlives this.
  void view(llvm::ArrayRef<T> elements) {
    clear();
    word = elements.data() ? reinterpret_cast<uintptr_t>(elements.data()) - sizeof(uint32_t) : 0;
  }
  void clear() {
    if (word & own)
      std::free(start());
    word = 0;
  }

  size_t size() const {
    uint32_t length = 0;
    if (word)
      std::memcpy(&length, start(), sizeof(length));
    return length;
  }
  bool empty() const { return size() == 0; }
  const T *begin() const { return word ? reinterpret_cast<const T *>(start() + sizeof(uint32_t)) : nullptr; }
  const T *end() const { return begin() + size(); }
  T operator[](size_t i) const { return begin()[i]; }
  T front() const { return *begin(); }
  T back() const { return end()[-1]; }
  llvm::ArrayRef<T> elements() const { return {begin(), size()}; }

private:
  static constexpr uintptr_t own = 1;
  uintptr_t word = 0; ///< the lowest bit: its own
  char *start() const { return reinterpret_cast<char *>(word & ~own); }
};

template <class T> PackedArray<T> &PackedArray<T>::operator=(llvm::ArrayRef<T> elements) {
  char *room = nullptr;
  if (!elements.empty()) { // copied before its own go: they may be the same
    uint32_t length = static_cast<uint32_t>(elements.size());
    room = static_cast<char *>(llvm::safe_malloc(sizeof(length) + elements.size() * sizeof(T)));
    std::memcpy(room, &length, sizeof(length));
    std::memcpy(room + sizeof(length), elements.data(), elements.size() * sizeof(T));
  }
  clear();
  word = room ? reinterpret_cast<uintptr_t>(room) | own : 0;
  return *this;
}

/// The dimensions of a tensor.
class Dims : public PackedArray<int32_t> {
public:
  Dims() = default;
  Dims(std::initializer_list<int32_t> dims) : PackedArray(llvm::ArrayRef<int32_t>(dims)) {}
  using PackedArray::operator=;
  Dims &operator=(std::initializer_list<int32_t> dims) { return *this = Dims(dims); }
  llvm::ArrayRef<int32_t> dims() const { return elements(); }
  operator llvm::ArrayRef<int32_t>() const { return elements(); }
  template <unsigned N> operator llvm::SmallVector<int32_t, N>() const { return {begin(), end()}; }
  friend bool operator==(const Dims &a, const Dims &b) { return a.dims() == b.dims(); }
  friend bool operator==(const Dims &a, llvm::ArrayRef<int32_t> b) { return a.dims() == b; }
  /// A tensor of unknown size is written as of size 1, and said to be unknown in its shape signature.
  void unknownToOne() {
    llvm::SmallVector<int32_t> known = *this;
    std::replace(known.begin(), known.end(), -1, 1);
    PackedArray::operator=(llvm::ArrayRef<int32_t>(known));
  }
};

/// The name of a tensor. None differs from an empty one.
class Name : public PackedArray<char> {
public:
  Name() = default;
  Name &operator=(llvm::StringRef text) {
    static const struct {
      uint32_t length = 0;
      char none[1] = {};
    } nothing;
    if (text.empty())
      PackedArray::view(text.data() ? llvm::ArrayRef<char>(nothing.none, size_t{0}) : llvm::ArrayRef<char>());
    else
      PackedArray::operator=(llvm::ArrayRef<char>(text.data(), text.size()));
    return *this;
  }
  void view(llvm::StringRef text) { PackedArray::view({text.data(), text.size()}); }
  llvm::StringRef text() const { return {begin(), size()}; }
  operator llvm::StringRef() const { return text(); }
  explicit operator bool() const { return begin(); }
  std::string str() const { return text().str(); }
  friend bool operator==(const Name &a, llvm::StringRef b) { return a.text() == b; }
  friend bool operator==(const Name &a, const Name &b) { return a.text() == b.text(); }
};

} // namespace origo
