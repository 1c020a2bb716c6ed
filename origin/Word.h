#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace origo::origin {

/// A string of a small vocabulary (the kind of an operator, a fate, a pass), kept once for the process, so that each of
/// a million rows pays a pointer for it. Not freed before the process ends. Threads may make words at the same time.
class Word {
public:
  Word() = default; ///< the empty one
  Word(llvm::StringRef text);
  Word(const std::string &text) : Word(llvm::StringRef(text)) {}
  Word(const char *text) : Word(llvm::StringRef(text)) {}

  const std::string &str() const { return text ? *text : none(); }
  operator llvm::StringRef() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return !text; }
  bool operator==(const Word &) const = default;
  friend bool operator==(const Word &word, const std::string &other) { return word.str() == other; }
  friend bool operator==(const Word &word, llvm::StringRef other) { return word.str() == other; }
  friend bool operator==(const Word &word, const char *other) { return word.str() == other; }
  friend std::string operator+(const std::string &text, const Word &word) { return text + word.str(); }

private:
  const std::string *text = nullptr;
  static const std::string &none();
};

} // namespace origo::origin
