#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

/// Starting the tools that lie beside this one, and other programs.
namespace origo::commands {

/// A file's name as one types it in a shell: quoted where it has to be, no option, and nothing that a terminal would
/// obey.
std::string shellWord(llvm::StringRef text, bool isFile = true);
/// The same of all words of a command.
std::string shellWords(llvm::ArrayRef<std::string> words);

std::string toolFolder();
std::string toolPath(llvm::StringRef tool);
/// An error that says what to do where the tool is not there.
llvm::Error checkTool(llvm::StringRef tool);

/// Becomes the program at `path` under the name `shown`. Returns only where that fails.
void become(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words);
/// The exit status of `path`, which ends when we are ended. `silent`: without what it prints to standard output.
llvm::Expected<int> runAs(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words,
                          bool silent = false);
/// What a tool prints to standard output; an error where it fails.
llvm::Expected<std::string> outputOf(llvm::StringRef tool, llvm::ArrayRef<std::string> words);
/// Runs a program, found as a shell does, and passes on what it prints, to standard error; its exit status. With `log`,
/// a file of that name has the command in its first line and what was printed behind it.
llvm::Expected<int> runCommand(llvm::ArrayRef<std::string> words, const std::string &log);

/// A program as a shell finds it; an error where there is none that can be started.
llvm::Expected<std::string> findProgram(const std::string &name);
/// Runs a program without input, and what it prints goes to the file `said`: its exit status, or −N where signal N ends
/// it. None: it took longer than `seconds`.
llvm::Expected<std::optional<int>> runQuietly(llvm::ArrayRef<std::string> words, const std::string &said,
                                              unsigned seconds);

/// A folder that is gone when this is, and also when the process is, however it ends.
class Scratch {
public:
  explicit Scratch(llvm::StringRef name);
  ~Scratch();
  Scratch(const Scratch &) = delete;
  std::string file(const llvm::Twine &name) const { return (path + "/" + name).str(); }
  llvm::SmallString<128> path;
  std::error_code error;

private:
  int end = -1; ///< of a pipe; whoever has the other removes the folder when this one is closed
};

} // namespace origo::commands
