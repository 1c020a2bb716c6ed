/// Writes one HTML file that shows a model beside its source.

#include "view/Files.h"

#include "export/Writer.h"
#include "origin/Fingerprint.h"
#include "origin/check/Check.h"
#include "origin/codec/OriginFile.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

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
cl::opt<std::string> historyPath("history", cl::value_desc("FILE"),
                                 cl::desc("What circle2circle --history wrote: a slider through the rewrites"),
                                 cl::cat(category));
cl::list<std::string> profilePaths("profile", cl::value_desc("FILE"),
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
    if (llvm::Error error = readFiles())
      return error;
    return write();
  }

private:
  PayloadStore store;
  origin::OriginFile file;
  std::shared_ptr<const origin::OriginMap> map; ///< null: there is none
  std::unique_ptr<origin::ModelFile> sourceFile; ///< null: not given, or a text
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
      return notTheSource(sourcePath, modelPath, map->source, imported->lineage.source->fingerprint);
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

  template <class Read> llvm::Error with(const std::string &path, Read read) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return inFile(path, makeError("cannot be read: " + buffer.getError().message()));
    llvm::Error error = read((*buffer)->getBuffer());
    return error ? inFile(path, std::move(error)) : llvm::Error::success();
  }

  llvm::Error readFiles() {
    contents.histograms = constants;
    if (!map && !(historyPath.empty() && profilePaths.empty() && errorsPath.empty()))
      return makeError(printable(modelPath) + " carries no origin map, which --history, --profile and --errors need");
    if (!historyPath.empty())
      if (llvm::Error error = with(historyPath, [&](llvm::StringRef text) { return readHistory(text); }))
        return error;
    for (const std::string &path : profilePaths)
      if (llvm::Error error = with(path, [&](llvm::StringRef text) { return join(path, text); }))
        return error;
    if (!errorsPath.empty())
      if (llvm::Error error = with(errorsPath, [&](llvm::StringRef text) {
            auto errors = view::readErrors(text, map->source);
            if (errors)
              contents.errors = std::move(*errors);
            return errors.takeError();
          }))
        return error;
    if (targetPath.empty())
      return llvm::Error::success();
    return with(targetPath, [&](llvm::StringRef text) -> llvm::Error {
      auto target = readTarget(text);
      if (!target)
        return target.takeError();
      contents.targetName = target->name.empty() ? llvm::sys::path::stem(targetPath).str() : target->name;
      contents.unsupported = checkTarget(*result.imported->model, *target);
      return llvm::Error::success();
    });
  }

  llvm::Error readHistory(llvm::StringRef text) {
    std::vector<size_t> operators;
    for (auto &graph : result.imported->model->subgraphs)
      operators.push_back(graph->operators.size());
    auto history = view::readHistory(text, map->source.operatorCount(), map->source.tensorCount(), operators);
    if (history)
      contents.history = std::move(*history);
    return history.takeError();
  }

  /// As origin-dump --join does, with its default weights.
  llvm::Error join(llvm::StringRef path, llvm::StringRef bytes) {
    auto profile = readProfile(bytes);
    if (!profile)
      return profile.takeError();
    std::optional<origin::FileGraph> target, from;
    target.emplace(file.model->view());
    if (sourceFile)
      from.emplace(sourceFile->view());
    JoinOptions options;
    if (llvm::any_of(profile->rows, [](const ProfileRow &row) { return !row.fingerprint.empty(); }))
      options.fileHash = origin::hex(llvm::SHA256::hash(file.model->bytes()));
    auto joined = matchRows(std::move(*profile), map->target, &*target, options);
    if (!joined)
      return joined.takeError();
    if (joined->foreign)
      return makeError("foreign profile: none of its rows is about an operator of this model");
    SplitWeights weights(SplitRule::Macs, *map, from ? &*from : nullptr, &*target);
    if (llvm::Error error = divideTime(*joined, *map, weights))
      return error;
    for (const std::string &text : joined->notes)
      note(printable(path) + ": " + text);
    contents.profiles.push_back({llvm::sys::path::filename(path).str(), std::move(*joined)});
    return llvm::Error::success();
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
