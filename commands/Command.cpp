#include "commands/Command.h"

namespace origo::commands {

llvm::ArrayRef<const Command *> allCommands() {
  static const Command *const all[] = {
      &checkCommand,     &compareCommand,   &convertCommand,  &diffCommand,   &dumpCommand,   &inferCommand,
      &interpretCommand, &metricsCommand,   &mixCommand,      &modelCommand,  &onnxCommand,   &optimizeCommand,
      &originCommand,    &partitionCommand, &quantizeCommand, &recordCommand, &reduceCommand, &resizeCommand,
      &selectCommand,    &viewCommand,      &visqCommand};
  return all;
}

const Command *findCommand(llvm::StringRef name) {
  for (const Command *command : allCommands())
    if (command->name == name)
      return command;
  return nullptr;
}

} // namespace origo::commands
