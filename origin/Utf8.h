#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace origo::origin {

/// Text as the side file has it: invalid UTF-8 is replaced as Python's decode("utf-8", errors="replace") does, one
/// U+FFFD for each maximal part of a sequence that could have become valid (Unicode, chapter 3.9).
std::string replaceInvalidUtf8(llvm::StringRef text);

} // namespace origo::origin
