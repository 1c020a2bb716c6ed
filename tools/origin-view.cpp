/// Writes one HTML file that shows a model beside its source.

#include "view/Page.h"

#include "export/Writer.h"
#include "origin/check/Check.h"
#include "origin/codec/OriginFile.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"

using namespace origo;
using namespace origo::tools;
using namespace origo::report;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> modelPath(cl::Positional, cl::desc("RESULT"), cl::cat(category));
cl::opt<std::string> output("o", cl::value_desc("FILE"), cl::desc("The page to write, such as page.html"),
                            cl::cat(category));
cl::opt<std::string> sourcePath("source", cl::value_desc("MODEL"),
                                cl::desc("The source, for its shapes, types, options and costs; without it the page "
                                         "shows what the origin map knows"),
                                cl::cat(category));
cl::opt<std::string> mapPath("origin-map", cl::value_desc("FILE"),
                             cl::desc("The side file of a model that carries no origin map"), cl::cat(category));
cl::opt<unsigned> threads("threads", cl::init(0), cl::value_desc("N"),
                          cl::desc("At most so many threads (default: one a processor); the page is the same"),
                          cl::cat(category));
cl::extrahelp examples("\nRESULT is a .circle or .tflite file that circle2circle wrote, or any model.\n"
                       "The page needs no server and fetches nothing: open it from disk, attach it, keep it.\n"
                       "\nExamples:\n"
                       "  origin-view net.circle --source net.tflite -o page.html   both, side by side\n"
                       "  origin-view net.circle -o page.html                       the source as the map knows it\n"
                       "\nExit status: 0 success, 1 bad input or usage.\n");

/// A model, what it costs, and the map that belongs to it.
struct Loaded {
  std::optional<Imported> imported;
  ModelMetrics metrics;
};

class Page {
public:
  llvm::Error run() {
    if (llvm::Error error = loadResult())
      return error;
    if (!sourcePath.empty())
      if (llvm::Error error = loadSource())
        return error;
    measure();
    prove();
    return write();
  }

private:
  PayloadStore store;
  origin::OriginFile file;
  std::shared_ptr<const origin::OriginMap> map; ///< null: there is none
  Loaded result, source;
  view::PageContents contents;

  llvm::Error loadResult() {
    ImportOptions options;
    auto kind = kindOf(modelPath);
    if (!mapPath.empty() || kind == FileKind::Circle || kind == FileKind::Tflite) {
      auto opened = origin::openOriginFile(modelPath, mapPath, /*acceptStale=*/true);
      if (!opened)
        return opened.takeError();
      file = std::move(*opened);
      if (!file.model)
        return makeError(printable(modelPath) + " is a side file; its model is needed");
      for (const std::string &text : file.notes)
        contents.notes.push_back(text);
      if (file.map)
        map = std::make_shared<const origin::OriginMap>(std::move(*file.map));
    }
    options.map = map;
    auto imported = load(modelPath, options, store);
    if (!imported && map) {
      // A map that does not fit is shown for what it is.
      llvm::consumeError(imported.takeError());
      options = {};
      options.origin = OriginMode::Restart;
      imported = load(modelPath, options, store);
    }
    if (!imported)
      return imported.takeError();
    result.imported = std::move(*imported);
    return llvm::Error::success();
  }

  llvm::Error loadSource() {
    ImportOptions options;
    options.origin = OriginMode::Restart;
    auto imported = load(sourcePath, options, store);
    if (!imported)
      return imported.takeError();
    if (!map)
      return makeError(printable(modelPath) + " carries no origin map, so nothing ties it to --source; give its side "
                                              "file with --origin-map");
    if (imported->lineage.source->fingerprint != map->source.fingerprint)
      return makeError(printable(sourcePath) + " is not the source of " + printable(modelPath) +
                       ": the origin map has another fingerprint");
    source.imported = std::move(*imported);
    if (!map->source.namesKnown) { // embedded with ids only, and no side file at hand
      auto named = std::make_shared<origin::OriginMap>(*map);
      std::string name = std::move(named->source.file);
      named->source = *source.imported->lineage.source;
      named->source.file = std::move(name);
      map = std::move(named);
    }
    return llvm::Error::success();
  }

  void measure() {
    phase("measuring");
    StatisticsOptions options{.threads = threadCount(threads)};
    auto of = [&](Loaded &model, const Model *from) {
      const origin::Listing &listing = *model.imported->lineage.source;
      model.metrics = metricsOf(*model.imported->model, listing, from, options);
    };
    of(result, source.imported ? source.imported->model.get() : nullptr);
    contents.result = {&*result.imported, &result.metrics, llvm::sys::path::filename(modelPath).str()};
    contents.map = map.get();
    if (!source.imported)
      return;
    of(source, nullptr);
    contents.source = {&*source.imported, &source.metrics, llvm::sys::path::filename(sourcePath).str()};
  }

  /// Holds the map against the two files, by the checker that shares no code with what makes maps.
  void prove() {
    if (!map)
      return;
    phase("checking");
    view::Proof &proof = contents.proof.emplace();
    std::unique_ptr<origin::ModelFile> sourceFile;
    if (!sourcePath.empty() && kindOf(sourcePath) != FileKind::Text) {
      auto opened = origin::ModelFile::open(sourcePath);
      if (opened)
        sourceFile = std::move(*opened);
      else
        contents.notes.push_back(llvm::toString(opened.takeError()));
    }
    proof.withSource = sourceFile != nullptr;
    proof.violations = origin::check(*map, file.model->view(), sourceFile ? &sourceFile->view() : nullptr, proof.skipped);
  }

  llvm::Error write() {
    phase("writing");
    std::string data = view::pageData(contents);
    IgnoreWriteSignals guard;
    auto page = OutputFile::open(output);
    if (!page)
      return page.takeError();
    {
      OutputStream os(**page);
      view::writePage(data, os);
    }
    if (llvm::Error error = (*page)->finish())
      return error;
    return OutputFile::commit({page->get()});
  }
};

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "origin-view", {&category},
                     "Writes one HTML file that shows a model beside its source, and what became of what.\n", [] {
                       if (modelPath.empty())
                         return fail("which model? See origin-view --help");
                       if (output.empty())
                         return fail("where to? Say -o page.html");
                       llvm::Error error = Page().run();
                       return error ? fail(std::move(error)) : 0;
                     });
}
