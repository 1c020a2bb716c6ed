#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

/// Starting the tools that lie beside this one, and other programs.
namespace origo::tools {

std::string toolFolder();
std::string toolPath(llvm::StringRef tool);
/// An error that says what to do where the tool is not there.
llvm::Error checkTool(llvm::StringRef tool);

/// Becomes the program at `path` under the name `shown`. Returns only where that fails.
void become(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words);
/// The exit status of `path`, which ends when we are ended.
llvm::Expected<int> runAs(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words);
/// What a tool prints to standard output; an error where it fails.
llvm::Expected<std::string> outputOf(llvm::StringRef tool, llvm::ArrayRef<std::string> words);
/// Runs a program, found as a shell does, and passes on what it prints, to standard error; its exit status. With `log`, a file
/// of that name has the command in its first line and what was printed behind it.
llvm::Expected<int> runCommand(llvm::ArrayRef<std::string> words, const std::string &log);

} // namespace origo::tools
