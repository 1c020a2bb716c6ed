#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace origo::origin {

/// A list that nearly always is short, in 16 bytes: there may be one for each tensor of a large model. Up to 12 bytes
/// of elements take no memory of their own.
template <class T> class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 4);

public:
  InlineVector() = default;
  InlineVector(std::span<const T> items) { assign(items.data(), items.size()); }
  InlineVector(const std::vector<T> &items) { assign(items.data(), items.size()); }
  InlineVector(std::initializer_list<T> items) { assign(items.begin(), items.size()); }
  InlineVector(const InlineVector &other) { assign(other.data(), other.size()); }
  InlineVector(InlineVector &&other) noexcept { swap(other); }
  ~InlineVector() { resize(0); }
  InlineVector &operator=(InlineVector other) noexcept {
    swap(other);
    return *this;
  }
  void assign(const T *items, size_t count) {
    resize(count);
    std::copy_n(items, count, data());
  }
  /// Keeps what fits; what is new is zero. Takes time in proportion to the size.
  void resize(size_t size) {
    if (size == count)
      return;
    InlineVector old;
    swap(old);
    count = static_cast<uint32_t>(size);
    if (count > room) {
      T *made = new T[count]();
      std::memcpy(store, &made, sizeof(made));
    } else {
      std::memset(store, 0, sizeof(store));
    }
    std::copy_n(old.data(), std::min(count, old.count), data());
    if (old.count > room)
      delete[] old.data();
    old.count = 0;
  }
  void clear() { resize(0); }
  operator std::vector<T>() const { return {begin(), end()}; }
  const T *data() const { return const_cast<InlineVector *>(this)->data(); }
  T *data() {
    if (count <= room)
      return reinterpret_cast<T *>(store);
    T *address;
    std::memcpy(&address, store, sizeof(address));
    return address;
  }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T *begin() const { return data(); }
  T *begin() { return data(); }
  const T *end() const { return data() + count; }
  T *end() { return data() + count; }
  const T &operator[](size_t i) const { return data()[i]; }
  T &operator[](size_t i) { return data()[i]; }
  const T &front() const { return *data(); }
  friend bool operator==(const InlineVector &a, const InlineVector &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const InlineVector &a, const std::vector<T> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

private:
  static constexpr uint32_t room = 12 / sizeof(T);
  uint32_t count = 0;
  alignas(4) unsigned char store[12] = {}; ///< the elements, or their address
  void swap(InlineVector &other) noexcept {
    std::swap(count, other.count);
    std::swap(store, other.store);
  }
};

/// A name, of up to 11 characters without memory of its own; followed by a NUL.
class Text {
public:
  Text() = default;
  Text(std::string_view text) {
    if (text.empty())
      return;
    bytes.resize(text.size() + 1);
    std::copy(text.begin(), text.end(), bytes.begin());
  }
  Text(const std::string &text) : Text(std::string_view(text)) {}
  Text(const char *text) : Text(std::string_view(text)) {}
  size_t size() const { return bytes.empty() ? 0 : bytes.size() - 1; }
  bool empty() const { return bytes.empty(); }
  const char *c_str() const { return bytes.empty() ? "" : bytes.data(); }
  std::string_view view() const { return {c_str(), size()}; }
  std::string str() const { return std::string(view()); }
  operator std::string() const { return str(); }
  operator std::string_view() const { return view(); }
  /// Any other view of characters.
  template <std::constructible_from<const char *, size_t> View>
  requires(!std::same_as<View, std::string>) operator View() const { return View(c_str(), size()); }
  void clear() { bytes.clear(); }
  friend bool operator==(const Text &a, const Text &b) { return a.view() == b.view(); }
  friend bool operator==(const Text &a, const std::string &b) { return a.view() == b; }
  friend bool operator==(const Text &a, const char *b) { return a.view() == b; }
  friend std::string operator+(const std::string &a, const Text &b) { return a + b.str(); }

private:
  InlineVector<char> bytes; ///< with the NUL, if there are any
};

} // namespace origo::origin
