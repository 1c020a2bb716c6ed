#pragma once

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/TrailingObjects.h"

#include <concepts>
#include <string>

namespace origo::report {

/// A text whose copies share its characters, as a pointer: of a million rows, each has several, and most are empty or
/// the same as another.
class SharedText {
public:
  SharedText() = default;
  SharedText(llvm::StringRef text) : kept(text.empty() ? nullptr : Kept::make(text)) {}
  SharedText(const std::string &text) : SharedText(llvm::StringRef(text)) {}
  SharedText(const char *text) : SharedText(llvm::StringRef(text)) {}

  operator llvm::StringRef() const { return kept ? kept->text() : llvm::StringRef(); }
  std::string str() const { return llvm::StringRef(*this).str(); }
  bool empty() const { return !kept; }
  template <std::convertible_to<llvm::StringRef> Text>
  friend bool operator==(const SharedText &text, const Text &other) {
    return llvm::StringRef(text) == llvm::StringRef(other);
  }

private:
  /// Its characters stand behind it.
  struct Kept final : llvm::ThreadSafeRefCountedBase<Kept>, llvm::TrailingObjects<Kept, char> {
    const size_t size;

    static Kept *make(llvm::StringRef text) {
      Kept *kept = new (::operator new(totalSizeToAlloc<char>(text.size()))) Kept(text.size());
      llvm::copy(text, kept->template getTrailingObjects<char>());
      return kept;
    }
    void operator delete(void *memory) { ::operator delete(memory); }
    llvm::StringRef text() const { return {this->template getTrailingObjects<char>(), size}; }

  private:
    explicit Kept(size_t size) : size(size) {}
  };
  llvm::IntrusiveRefCntPtr<Kept> kept;
};

} // namespace origo::report
