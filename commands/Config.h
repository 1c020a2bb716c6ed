#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

/// Configuration files of the circle toolchain (.cfg), in the grammar of Python's ConfigParser: sections, `key = value`
/// or `key: value`, `#` and `;` before comments, continuation lines, [DEFAULT], and `%(key)s` for the value of another
/// key.
namespace origo::commands {

using Section = std::map<std::string, std::string>;

/// All sections but [DEFAULT], whose keys are in each of them. A section or a key that stands twice is an error, with
/// its line; so is a value that refers to a key that is not there, or to itself.
/// With `defaults`, it gets the keys of [DEFAULT].
llvm::Expected<std::map<std::string, Section>> readConfig(llvm::StringRef text, Section *defaults = nullptr);
/// A file of settings. What has no end, such as /dev/zero, is refused.
llvm::Expected<std::string> readSettings(llvm::StringRef path);
/// readConfig() of a file, which the error names.
llvm::Expected<std::map<std::string, Section>> readConfigFile(llvm::StringRef path, Section *defaults = nullptr);

/// The group of options that `include` of [onecc] asks for: of several the last one, as in ONE. Empty: none. O1 is one
/// of ours, which circle2circle -O1 knows; others are in files.
std::string groupOf(const std::map<std::string, Section> &sections);
/// [one-optimize] of the group's file, which is NAME.cfg beside `config`, or in ../optimization seen from our programs.
llvm::Expected<Section> readGroup(llvm::StringRef name, llvm::StringRef config);

/// Whether a value of [one-optimize] asks for a switch: it does unless it is empty, `false`, `0` or `n`.
bool isSwitchedOn(llvm::StringRef value);

} // namespace origo::commands
