#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>

namespace origo::commands {

/// Who asks for a command: a command line, or Python. It hears what is done, and calls options by names of its own.
struct Door {
  std::function<std::string(llvm::StringRef)> spell; ///< by the name in the row
  std::function<void(const llvm::Twine &)> note;
  std::function<void(const char *)> phase = [](const char *) {}; ///< what is being done now, a word such as "reading"
  std::function<void(llvm::StringRef path)> maps = {}; ///< a file is read in place; null: what is read is ours alone
  /// An error where `output`, or another file that is written, is an input. It may take the place of `input`.
  std::function<llvm::Error(const std::string &input, const std::string &output)> checkFiles = {};
  /// So many of all records, of a part of several; null: nobody looks.
  std::function<void(uint64_t done, uint64_t all, uint64_t parts)> progress = {};
};

/// How a command ends that is no error of input: what was asked for holds of the result, or does not.
enum class Verdict { Holds, Refused };

} // namespace origo::commands
