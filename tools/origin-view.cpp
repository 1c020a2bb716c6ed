/// Writes one HTML file that shows a model beside its source.

#include "commands/Page.h"
#include "origin/codec/OriginFile.h"
#include "tools/Related.h"

#include "llvm/Support/CommandLine.h"

using namespace origo;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> modelPath(cl::Positional, cl::desc("RESULT"), cl::cat(category));
cl::opt<std::string> output("o", writes, cl::value_desc("FILE"), cl::desc("The page to write, such as page.html"),
                            cl::cat(category));
cl::opt<std::string> sourcePath("source", cl::value_desc("MODEL"),
                                cl::desc("The source, for its shapes, types, options and costs; without it the page "
                                         "shows what the origin map knows"),
                                cl::cat(category));
cl::opt<std::string> mapPath("origin-map", cl::value_desc("FILE"),
                             cl::desc("The side file of a model that carries no origin map"), cl::cat(category));
cl::opt<std::string> historyPath("history", cl::value_desc("FILE"),
                                 cl::desc("What circle2circle --history wrote: a slider through the rewrites, and why "
                                          "operators stayed"),
                                 cl::cat(category));
cl::list<std::string>
    profilePaths("profile", cl::value_desc("FILE"),
                 cl::desc("A profile of RESULT, in any format of origin-dump --join; may be repeated"),
                 cl::cat(category));
cl::opt<std::string> errorsPath("errors", cl::value_desc("FILE"), cl::desc("What visq --json wrote: errors of tensors"),
                                cl::cat(category));
cl::opt<std::string> targetPath("target", cl::value_desc("FILE"),
                                cl::desc("Limits of a back end (docs/targets.md): what it cannot take is shown"),
                                cl::cat(category));
cl::opt<bool> constants("constants", cl::desc("With a histogram of each constant"), cl::cat(category));
cl::opt<unsigned> threads("threads", cl::init(0), cl::value_desc("N"),
                          cl::desc("At most so many threads (default: one a processor); the page is the same"),
                          cl::cat(category));
cl::extrahelp examples("\nRESULT is a .circle or .tflite file that circle2circle wrote, or any model.\n"
                       "The page needs no server and fetches nothing: open it from disk, attach it, keep it.\n"
                       "\nExamples:\n"
                       "  origin-view net.circle --source net.tflite -o page.html   both, side by side\n"
                       "  origin-view net.circle -o page.html                       the source as the map knows it\n"
                       "  circle2circle -O1 --history=net.history net.tflite net.circle\n"
                       "  origin-view net.circle --source net.tflite --history net.history -o page.html\n"
                       "  origin-view net.circle --profile times.csv --target npu.json --constants -o page.html\n"
                       "\nExit status: 0 success, 1 bad input or usage.\n");

/// The files that were opened live as long as the page is made.
struct Opened {
  origin::OriginFile result;
  std::unique_ptr<origin::ModelFile> source;
  PayloadStore store;
};

llvm::Error readResult(Opened &opened, commands::PageRequest &request) {
  ImportOptions options;
  options.tolerant = true;
  if (!mapPath.empty() || (kindOf(modelPath) != FileKind::Text && !isStream(modelPath))) {
    auto file = origin::openOriginFile(modelPath, mapPath, /*acceptStale=*/true);
    if (!file)
      return file.takeError();
    opened.result = std::move(*file);
    if (!opened.result.model)
      return makeError(printable(modelPath) + " is a side file; its model is needed");
    request.notes = opened.result.notes;
    if (opened.result.map)
      request.map = std::make_shared<const origin::OriginMap>(std::move(*opened.result.map));
  }
  options.map = request.map;
  auto imported = load(modelPath, options, opened.store);
  if (!imported && request.map) {
    // A map that does not fit is shown for what it is.
    llvm::consumeError(imported.takeError());
    options.map = nullptr;
    options.origin = OriginMode::Restart;
    imported = load(modelPath, options, opened.store);
  }
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    note(text);
  request.result = {std::move(*imported), opened.result.model.get(), modelPath};
  return llvm::Error::success();
}

llvm::Error readSource(Opened &opened, commands::PageRequest &request) {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  auto imported = load(sourcePath, options, opened.store);
  if (!imported)
    return imported.takeError();
  if (auto file = openModelFile(sourcePath))
    opened.source = std::move(*file);
  else
    request.notes.push_back(llvm::toString(file.takeError()));
  request.source = commands::PageInput{std::move(*imported), opened.source.get(), sourcePath};
  return llvm::Error::success();
}

llvm::Error writePage() {
  Opened opened;
  commands::PageRequest request;
  if (llvm::Error error = readResult(opened, request))
    return error;
  if (!sourcePath.empty())
    if (llvm::Error error = readSource(opened, request))
      return error;
  request.history = historyPath;
  request.profiles = profilePaths;
  request.errors = errorsPath;
  request.target = targetPath;
  request.histograms = constants;
  request.threads = threadCount(threads);
  request.note = [](llvm::StringRef text) { note(text); };
  request.onPhase = phase;
  auto data = commands::pageData(std::move(request));
  if (!data)
    return data.takeError();
  phase("writing");
  return writeFile(output, [&](llvm::raw_ostream &os) {
    view::writePage(*data, os);
    return llvm::Error::success();
  });
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "origin-view", {&category},
                     "Writes one HTML file that shows a model beside its source, and what became of what.\n", [] {
                       if (modelPath.empty())
                         return fail("which model? See origin-view --help");
                       if (output.empty())
                         return fail("where to? Say -o page.html");
                       llvm::Error error = writePage();
                       return error ? fail(std::move(error)) : 0;
                     });
}
