#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

/// Configuration files of the circle toolchain (.cfg), in the grammar of Python's ConfigParser: sections, `key = value`
/// or `key: value`, `#` and `;` before comments, continuation lines, [DEFAULT], and `%(key)s` for the value of another
/// key.
namespace origo::tools {

using Section = std::map<std::string, std::string>;

/// All sections but [DEFAULT], whose keys are in each of them. A section or a key that stands twice is an error, with
/// its line; so is a value that refers to a key that is not there, or to itself.
llvm::Expected<std::map<std::string, Section>> readConfig(llvm::StringRef text);

/// Whether a value of [one-optimize] asks for a switch: it does unless it is empty, `false`, `0` or `n`.
bool isSwitchedOn(llvm::StringRef value);

} // namespace origo::tools
