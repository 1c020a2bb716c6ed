#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

/// What packages install beside the command lines, made from the options of `origo` and of all tools beside it.
namespace origo::tools {

std::string bashCompletion();
std::string zshCompletion();
/// The page of "origo", of a command of it, or of a tool, for man(1).
llvm::Expected<std::string> manualPage(llvm::StringRef name);

} // namespace origo::tools
