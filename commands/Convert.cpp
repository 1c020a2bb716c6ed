#include "commands/Command.h"
#include "commands/Files.h"

namespace origo::commands {

namespace {

/// Converts a .tflite model to .circle, and nothing else.
struct ConvertRequest {
  std::string input, output;
  bool verbose = false;
};

constexpr std::array convertRows{
    option<&ConvertRequest::verbose>("verbose", "Ignored, for compatibility; results are always reported",
                                     {.also = "V", .python = Without::Ignored, .cfg = Without::Ignored}),
};

llvm::Error convert(ConvertRequest &request, Words words, const Door &door, Verdict &) {
  const std::string &output = request.output;
  if (llvm::Error error = takeFiles(request.input, request.output, words))
    return error;
  if (llvm::Error error = door.checkFiles(request.input, output))
    return error;
  if (llvm::Error error = checkOutput(output, FileKind::Circle))
    return error;
  PayloadStore store;
  llvm::Expected<Imported> imported = load(request.input, {}, store, door);
  if (!imported)
    return imported.takeError();
  for (const std::string &note : imported->notes)
    door.note(note);
  ExportOptions options;
  options.format = Format::Circle;
  options.originJson = output + ".origin.json";
  if (llvm::Error error = save(*imported, output, options, door))
    return error;
  tellResult(door, imported->bytes, output, imported->model->operatorCount(), 0, std::nullopt, true, "");
  return llvm::Error::success();
}

} // namespace

const Command convertCommand =
    makeCommand<convert>("tflite2circle", "INPUT.tflite OUTPUT.circle",
                         "Converts a .tflite model to .circle, and nothing else. Operator and tensor numbers stay.\n"
                         "The side file OUTPUT.origin.json says so.\n\n"
                         "  tflite2circle net.tflite net.circle\n",
                         [] { return Options(convertRows); });

} // namespace origo::commands
