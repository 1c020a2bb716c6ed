#pragma once

#include "commands/Door.h"
#include "commands/Option.h"

#include <memory>

namespace origo::commands {

using Words = llvm::ArrayRef<std::string>;

/// What doors show of a command, and run.
struct Command {
  llvm::StringRef name, arguments;  ///< of the tool; what it takes besides options
  llvm::StringRef overview;         ///< what it does, in a line, and examples
  Options (*options)();             ///< its rows
  std::shared_ptr<void> (*fresh)(); ///< a request that asks for nothing
  /// As a command line asks for it; `words` are no options. Where `verdict` is Refused, exit status is 2.
  llvm::Error (*run)(void *request, Words words, const Door &door, Verdict &verdict);

  const Option *find(llvm::StringRef option) const { return findOption(options(), option); }
};

template <class Request> std::shared_ptr<void> freshRequest() { return std::make_shared<Request>(); }

template <class> struct RequestOf;
template <class R> struct RequestOf<llvm::Error (*)(R &, Words, const Door &, Verdict &)> { using Type = R; };

/// The command that a function runs, whose first parameter is its request.
template <auto Run>
constexpr Command makeCommand(llvm::StringRef name, llvm::StringRef arguments, llvm::StringRef overview,
                              Options (*options)()) {
  using Request = typename RequestOf<decltype(Run)>::Type;
  return {name,
          arguments,
          overview,
          options,
          freshRequest<Request>,
          [](void *request, Words words, const Door &door, Verdict &verdict) {
            return Run(*static_cast<Request *>(request), words, door, verdict);
          }};
}

extern const Command checkCommand, compareCommand, convertCommand, diffCommand, dumpCommand, inferCommand,
    interpretCommand, metricsCommand, mixCommand, modelCommand, onnxCommand, optimizeCommand, originCommand,
    partitionCommand, quantizeCommand, recordCommand, reduceCommand, resizeCommand, selectCommand, viewCommand,
    visqCommand;
llvm::ArrayRef<const Command *> allCommands();
/// Null: it has no rows yet.
const Command *findCommand(llvm::StringRef name);

} // namespace origo::commands
