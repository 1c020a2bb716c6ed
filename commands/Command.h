#pragma once

#include "commands/Option.h"

#include <memory>

namespace origo::commands {

/// What doors show of a command.
struct Command {
  llvm::StringRef name, arguments; ///< of the tool; what it takes besides options
  llvm::StringRef overview;        ///< what it does, in a line, and examples
  Options options;
  std::shared_ptr<void> (*fresh)(); ///< a request that asks for nothing

  const Option *find(llvm::StringRef option) const { return findOption(options, option); }
};

template <class Request> std::shared_ptr<void> freshRequest() { return std::make_shared<Request>(); }

llvm::ArrayRef<const Command *> allCommands();
/// Null: it has no rows yet.
const Command *findCommand(llvm::StringRef name);

} // namespace origo::commands
