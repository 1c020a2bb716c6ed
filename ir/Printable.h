#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

/// What printable() (ir/Error.h) is made of.
namespace origo {

/// The first character of a text that is not empty. What is no UTF-8 is one byte that does not show.
struct Character {
  size_t length;
  uint32_t code;
  bool shows; ///< as it is: no terminal obeys it, and the line keeps its direction
};
Character firstCharacter(llvm::StringRef text);

/// As printable(), of what is in words already, quotes and all, and may hold names that nobody has looked at.
std::string printableWords(llvm::StringRef text, size_t limit = ~size_t(0));

} // namespace origo
