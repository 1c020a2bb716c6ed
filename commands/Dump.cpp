#include "commands/Command.h"
#include "commands/Files.h"
#include "ir/text/Text.h"

#include "llvm/Support/raw_ostream.h"

namespace origo::commands {

namespace {

/// Prints a model as text.
struct DumpRequest {
  std::string input;
  PrintOptions print;
};

constexpr std::array dumpRows{
    option<&DumpRequest::print, &PrintOptions::origins>("origins", "With origins, passes and relations as comments"),
};

llvm::Error dump(DumpRequest &request, Words words, const Door &door, Verdict &) {
  if (llvm::Error error = takeModel(request.input, words))
    return error;
  PayloadStore store;
  ImportOptions import;
  import.tolerant = true;
  llvm::Expected<Imported> imported = load(request.input, import, store, door);
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    door.note(text);
  printText(*imported->model, llvm::outs(), request.print);
  return llvm::Error::success();
}

} // namespace

const Command dumpCommand =
    makeCommand<dump>("circledump", "MODEL",
                      "Prints a .circle, .tflite or .origo model as text; big constants by their digest.\n"
                      "For a text with all constants: circle2circle net.tflite net.origo\n\n"
                      "  circledump net.circle | less\n",
                      [] { return Options(dumpRows); });

} // namespace origo::commands
