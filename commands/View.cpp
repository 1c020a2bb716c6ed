#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/Onnx.h"
#include "commands/Page.h"
#include "commands/Related.h"
#include "origin/codec/OriginFile.h"

namespace origo::commands {

namespace {

/// Writes one HTML file that shows a model beside its source.
struct ViewRequest {
  std::string model, output, source, map;
  Repeated<std::string> profiles;
  unsigned threads = 0;
  PageRequest page;
};

constexpr std::array viewRows{
    option<&ViewRequest::output>("o", "FILE", "The page to write, such as page.html", {.writes = true}),
    option<&ViewRequest::source>("source", "MODEL",
                                 "The source, for its shapes, types, options and costs; without it the page shows what "
                                 "the origin map knows"),
    option<&ViewRequest::map>("origin-map", "FILE", "The side file of a model that carries no origin map"),
    option<&ViewRequest::page, &PageRequest::history>(
        "history", "FILE",
        "What circle2circle --history wrote: a slider through the rewrites, and why operators stayed"),
    option<&ViewRequest::profiles>("profile", "FILE",
                                   "A profile of RESULT, in any format of origin-dump --join; may be repeated"),
    option<&ViewRequest::page, &PageRequest::errors>("errors", "FILE", "What visq --json wrote: errors of tensors"),
    option<&ViewRequest::page, &PageRequest::target>(
        "target", "FILE", "Limits of a back end (docs/targets.md): what it cannot take is shown"),
    option<&ViewRequest::page, &PageRequest::histograms>("constants", "With a histogram of each constant"),
    option<&ViewRequest::threads>("threads", "N",
                                  "At most so many threads (default: one a processor); the page is the same"),
};

/// The files that were opened live as long as the page is made.
struct OpenedFiles {
  origin::OriginFile result;
  std::unique_ptr<origin::ModelFile> source;
  PayloadStore store;
};

llvm::Error readResult(const ViewRequest &request, PageRequest &page, OpenedFiles &opened, const Door &door) {
  ImportOptions options;
  options.tolerant = true;
  const std::string &path = request.model;
  if (!request.map.empty() || (!isConverted(path) && !isStream(path))) {
    auto file = origin::openOriginFile(path, request.map, /*acceptStale=*/true);
    if (!file)
      return file.takeError();
    opened.result = std::move(*file);
    if (!opened.result.model)
      return makeError(printable(path) + " is a side file; its model is needed");
    page.notes = opened.result.notes;
    if (opened.result.map)
      page.map = std::make_shared<const origin::OriginMap>(std::move(*opened.result.map));
  }
  options.map = page.map;
  auto imported = load(path, options, opened.store, door);
  if (!imported && page.map) {
    // A map that does not fit is shown for what it is.
    llvm::consumeError(imported.takeError());
    options.map = nullptr;
    options.origin = OriginMode::Restart;
    imported = load(path, options, opened.store, door);
  }
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    door.note(text);
  page.result = {std::move(*imported), opened.result.model.get(), path};
  return llvm::Error::success();
}

llvm::Error readSource(const ViewRequest &request, PageRequest &page, OpenedFiles &opened, const Door &door) {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  // Of ONNX the nodes, which a map counts, and not what becomes of them.
  auto imported = kindOf(request.source) == FileKind::Onnx ? readOnnxNodes(request.source)
                                                           : load(request.source, options, opened.store, door);
  if (!imported)
    return imported.takeError();
  if (auto file = openModelFile(request.source, door))
    opened.source = std::move(*file);
  else
    page.notes.push_back(llvm::toString(file.takeError()));
  page.source = PageInput{std::move(*imported), opened.source.get(), request.source};
  return llvm::Error::success();
}

llvm::Error view(ViewRequest &request, Words words, const Door &door, Verdict &) {
  if (words.size() == 2 && request.source.empty())
    request.source = words[1], words = words.drop_back();
  if (llvm::Error error = takeModel(request.model, words))
    return error;
  if (request.output.empty())
    return makeError("where to? Say -o page.html");
  OpenedFiles opened;
  PageRequest page = std::move(request.page);
  if (llvm::Error error = readResult(request, page, opened, door))
    return error;
  if (!request.source.empty())
    if (llvm::Error error = readSource(request, page, opened, door))
      return error;
  page.profiles = request.profiles;
  page.threads = threadCount(request.threads);
  page.note = [&](llvm::StringRef text) { door.note(text); };
  page.onPhase = door.phase;
  auto data = pageData(std::move(page));
  if (!data)
    return data.takeError();
  door.phase("writing");
  return writeFile(request.output, [&](llvm::raw_ostream &os) {
    view::writePage(*data, os);
    return llvm::Error::success();
  });
}

} // namespace

const Command viewCommand = makeCommand<view>(
    "origin-view", "RESULT [SOURCE]",
    "Writes one HTML file that shows a model beside its source, and what became of what.\n\n"
    "RESULT is a .circle or .tflite file that circle2circle wrote, or any model. Where no origin map ties it to\n"
    "SOURCE, it is inferred as origin-infer does; else they are paired by names, and the page says that this is a "
    "guess.\n"
    "The page needs no server and fetches nothing: open it from disk, attach it, keep it.\n\n"
    "  origin-view net.circle --source net.tflite -o page.html   both, side by side\n"
    "  origin-view net.circle -o page.html                       the source as the map knows it\n"
    "  circle2circle -O1 --history=net.history net.tflite net.circle\n"
    "  origin-view net.circle --source net.tflite --history net.history -o page.html\n"
    "  origin-view net.circle --profile times.csv --target npu.json --constants -o page.html\n"
    "\nExit status: 0 success, 1 bad input or usage.\n",
    [] { return Options(viewRows); });

} // namespace origo::commands
