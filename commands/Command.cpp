#include "commands/Command.h"

namespace origo::commands {

llvm::ArrayRef<const Command *> allCommands() {
  static const Command *const all[] = {&convertCommand, &optimizeCommand, &partitionCommand, &quantizeCommand,
                                       &recordCommand,  &resizeCommand,   &selectCommand,    &visqCommand};
  return all;
}

const Command *findCommand(llvm::StringRef name) {
  for (const Command *command : allCommands())
    if (command->name == name)
      return command;
  return nullptr;
}

} // namespace origo::commands
