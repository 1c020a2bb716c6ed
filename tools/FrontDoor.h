#pragma once

#include "tools/OptionTable.h"

/// `origo`: one command in front of the others. A command of it is a row of frontCommands(); what the row's tool can
/// do, it does as a process, so that both names are one program.
namespace origo::tools {

struct Command;

/// What was typed behind the name of a command.
class Call {
public:
  Call(const Command &command, llvm::ArrayRef<std::string> words);
  const Command &command;
  const std::vector<std::string> typed; ///< all words
  std::vector<std::string> arguments;   ///< what is no option
  bool has(llvm::StringRef option) const;
  bool hasAny(llvm::ArrayRef<llvm::StringRef> options) const;
  /// Whether an option of this category of the tool was given.
  bool hasCategory(llvm::StringRef category) const;
  /// The value of an option, which is forgotten: the tool does not see it. None: it was not given.
  std::optional<std::string> take(llvm::StringRef option);
  /// The options that are left, as they were typed: all, or those for which `chosen` holds.
  std::vector<std::string> options(llvm::function_ref<bool(llvm::StringRef)> chosen = nullptr) const;
  /// What is said of the first option that neither the command nor its tools have; empty: there is none.
  std::string unknown() const;
  std::vector<Option> known; ///< the command's own, and all of its tools

private:
  std::vector<Word> parts;
};

struct Command {
  llvm::StringLiteral name, arguments, summary;
  llvm::StringLiteral help;                 ///< examples, each with what it does
  std::vector<llvm::StringLiteral> tools;   ///< whose options it takes
  std::vector<llvm::StringLiteral> covered; ///< options of these tools that the command itself stands for
  std::vector<Option> own;                  ///< of the category ""
  int (*run)(Call &call);
};

const std::vector<Command> &frontCommands();
const Command *findCommand(llvm::StringRef name);
/// All tools that lie beside this program, by name.
std::vector<std::string> installedTools();
/// Those of a tool, each spelling one.
std::vector<Option> optionsOf(llvm::StringRef tool);

/// The options of a command, its own first, without what the command stands for.
std::vector<Option> optionsOf(const Command &command, bool withCovered = false);

std::string frontHelp();
std::string helpOf(const Command &command);

/// Runs a tool under the name that was typed; its exit code.
enum class Then { Ends, GoesOn, GoesOnSilently }; ///< silently: without what the tool prints to standard output
int runTool(const Call &call, llvm::StringRef tool, llvm::ArrayRef<std::string> words, Then then = Then::Ends);

/// What main returns for `origo`.
int frontDoor(int argc, char **argv);

} // namespace origo::tools
