#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/Onnx.h"

namespace origo::commands {

template <>
inline constexpr auto choicesOf<SourceLines> = std::to_array<ChoiceOf<SourceLines>>(
    {{"relative", SourceLines::Relative, "paths within packages and within the folder of the program (default)"},
     {"full", SourceLines::Full, "whole paths, with the names of folders on the machine"},
     {"none", SourceLines::None, "nothing"}});

namespace {

/// Converts a .tflite model to .circle, and nothing else.
struct ConvertRequest {
  std::string input, output;
  bool verbose = false;
};
/// The same of an ONNX model.
struct OnnxRequest {
  std::string input, output;
  Repeated<std::string> shape, bind;
  SourceLines sourceLines = SourceLines::Relative;
  std::string linesFrom;
  bool verbose = false;
};

constexpr llvm::StringLiteral ignored = "Ignored, for compatibility; results are always reported";

constexpr std::array convertRows{
    option<&ConvertRequest::verbose>("verbose", ignored,
                                     {.also = "V", .python = Without::Ignored, .cfg = Without::Ignored}),
};
constexpr std::array onnxRows{
    option<&OnnxRequest::shape>("shape", "NAME=1,3,224,224",
                                "The shape of an input, where the file leaves dimensions open"),
    option<&OnnxRequest::bind>("bind", "NAME=x.npy",
                               "An input that is given once and for all, and becomes a constant: what decides a shape, "
                               "an axis or an option"),
    option<&OnnxRequest::sourceLines>("source-lines", "",
                                      "Of lines of programs that the exporter wrote, the map tells"),
    option<&OnnxRequest::linesFrom>("lines-from", "FILE.onnx", linesFromHelp),
    option<&OnnxRequest::verbose>("verbose", ignored,
                                  {.also = "V", .python = Without::Ignored, .cfg = Without::Ignored}),
};

template <class Request>
llvm::Error convert(Request &request, Words words, const Door &door,
                    llvm::function_ref<llvm::Expected<Imported>(PayloadStore &)> readInput) {
  const std::string &output = request.output;
  if (llvm::Error error = takeFiles(request.input, request.output, words))
    return error;
  if (llvm::Error error = door.checkFiles(request.input, output))
    return error;
  if (llvm::Error error = checkOutput(output, FileKind::Circle))
    return error;
  PayloadStore store;
  llvm::Expected<Imported> imported = readInput(store);
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

llvm::Error convertTflite(ConvertRequest &request, Words words, const Door &door, Verdict &) {
  return convert(request, words, door, [&](PayloadStore &store) { return load(request.input, {}, store, door); });
}

llvm::Error convertOnnx(OnnxRequest &request, Words words, const Door &door, Verdict &) {
  return convert(request, words, door, [&](PayloadStore &store) -> llvm::Expected<Imported> {
    door.phase("reading");
    auto file = MappedFile::open(request.input);
    if (!file)
      return file.takeError();
    auto imported = readOnnx(std::move(*file), store, {request.shape, request.bind, request.sourceLines});
    if (imported && !request.linesFrom.empty())
      if (llvm::Error error = takeLines(*imported, request.linesFrom, request.sourceLines))
        return error;
    return imported;
  });
}

} // namespace

const Command convertCommand = makeCommand<convertTflite>(
    "tflite2circle", "INPUT.tflite OUTPUT.circle",
    "Converts a .tflite model to .circle, and nothing else. Operator and tensor numbers stay.\n"
    "The side file OUTPUT.origin.json says so.\n\n"
    "  tflite2circle net.tflite net.circle\n",
    [] { return Options(convertRows); });

const Command onnxCommand = makeCommand<convertOnnx>(
    "onnx2circle", "INPUT.onnx OUTPUT.circle",
    "Converts an ONNX model to .circle, and nothing else: inputs and outputs keep their layout. The side file\n"
    "OUTPUT.origin.json says which nodes each operator comes from.\n\n"
    "  onnx2circle net.onnx net.circle && circle2circle -O1 net.circle net.opt.circle\n"
    "  onnx2circle --shape=image=1,3,224,224 net.onnx net.circle      where the file leaves dimensions open\n"
    "  onnx2circle --bind=axes=axes.npy net.onnx net.circle           an input that says along which axes\n"
    "  onnx2circle --lines-from=exported.onnx net.onnx net.circle     of a file that was stripped of its traces\n",
    [] { return Options(onnxRows); });

} // namespace origo::commands
