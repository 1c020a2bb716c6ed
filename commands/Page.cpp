#include "commands/Page.h"

#include "commands/Files.h"
#include "commands/JoinProfile.h"
#include "commands/Onnx.h"
#include "commands/Pair.h"
#include "commands/Targets.h"
#include "import/onnx/Onnx.h"
#include "ir/OpenFile.h"
#include "origin/Fingerprint.h"
#include "origin/check/Check.h"
#include "report/infer/Infer.h"
#include "view/Files.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

namespace origo::commands {

using namespace report;

namespace {

/// Are its operators nodes of ONNX, as a map counts them?
bool hasNodes(const Model &model) {
  return llvm::any_of(model.subgraphs.front()->operators,
                      [](const Operator &op) { return op.customCode().starts_with(onnxPrefix); });
}

class PageMaker {
public:
  explicit PageMaker(PageRequest &&request) : request(std::move(request)), map(this->request.map) {}

  llvm::Expected<std::string> run() {
    contents.notes = request.notes;
    if (llvm::Error error = checkSource())
      return error;
    measure();
    prove();
    if (llvm::Error error = readFiles())
      return error;
    return view::pageData(contents);
  }

private:
  PageRequest request;
  std::shared_ptr<const origin::OriginMap> map; ///< null: there is none
  ModelMetrics resultMetrics, sourceMetrics;
  view::PageContents contents;

  const origin::ModelFile *sourceFile() const { return request.source ? request.source->file : nullptr; }
  std::string resultName() const { return printable(request.result.path); }
  void phase(const char *word) const {
    if (request.onPhase)
      request.onPhase(word);
  }

  llvm::Error checkSource() {
    if (!request.source) {
      if (!map && !request.profiles.empty() && request.result.file) { // they tell of its own operators
        map = std::make_shared<const origin::OriginMap>(ownSource(*request.result.file, request.result.path));
        contents.notes.push_back("the model carries no origin map: its operators are those of the source");
      }
      return llvm::Error::success();
    }
    if (!map && inferOrigins())
      return llvm::Error::success();
    if (!map) {
      GuessedMap guessed = pairByNames(request.result.imported, request.source->imported);
      map = std::move(guessed.map);
      contents.notes.push_back(std::move(guessed.words));
      contents.isGuessed = true;
      return llvm::Error::success();
    }
    const origin::Listing &listing = *request.source->imported.lineage.source;
    if (llvm::Error error = expectSource(request.source->path, request.result.path, map->source, listing))
      return error;
    if (listing.format == "onnx" && !hasNodes(*request.source->imported.model))
      return makeError("the source is an ONNX model that is converted already, and a page shows its nodes: origin-view "
                       "RESULT --source FILE.onnx makes it");
    if (!map->source.namesKnown) { // embedded with ids only, and no side file at hand
      auto named = std::make_shared<origin::OriginMap>(*map);
      std::string name = std::move(named->source.file);
      named->source = listing;
      named->source.file = std::move(name);
      map = std::move(named);
    }
    return llvm::Error::success();
  }

  /// By what operators compute, where both are files that can be executed in a moment; else it says that it did not.
  bool inferOrigins() {
    if (!request.result.file || !sourceFile())
      return false;
    constexpr uint64_t most = 100'000'000; // multiply-accumulates: some seconds
    uint64_t macs = 0;
    for (const auto &graph : request.source->imported.model->subgraphs)
      for (const Operator &op : graph->operators)
        macs += std::min(macsOf(op).value_or(0), most);
    if (macs > most) {
      contents.notes.push_back(
          "origins are not inferred here, since the source is large; origo infer writes a map, which "
          "the page then takes");
      return false;
    }
    phase("executing");
    auto found =
        infer(request.source->imported, sourceFile()->view(), request.result.imported, request.result.file->view());
    if (!found) {
      contents.notes.push_back("origins could not be inferred: " + llvm::toString(found.takeError()));
      return false;
    }
    static constexpr llvm::StringLiteral words[] = {"unproved", "ambiguous", "unknown"};
    for (const InferDoubt &doubt : found->doubts)
      contents.doubts.push_back({doubt.subgraph, doubt.index, words[doubt.kind]});
    const InferCoverage::Count &count = found->coverage.operators;
    contents.notes.push_back(
        "no origin map ties these files: it was inferred from what operators compute, as origo infer does; " +
        std::to_string(count.related) + " of " + std::to_string(count.all) + " operators are related to the source, " +
        std::to_string(count.proved) + " proved");
    map = std::make_shared<const origin::OriginMap>(std::move(found->map));
    return true;
  }

  void measure() {
    phase("measuring");
    StatisticsOptions options{.threads = request.threads};
    auto of = [&](const PageInput &model, ModelMetrics &metrics, const Model *from) {
      metrics = metricsOf(*model.imported.model, *model.imported.lineage.source, from, options);
      return view::PageModel{&model.imported, &metrics, llvm::sys::path::filename(model.path).str()};
    };
    contents.result = of(request.result, resultMetrics,
                         request.source && !contents.isGuessed ? request.source->imported.model.get() : nullptr);
    contents.map = map.get();
    if (request.source)
      contents.source = of(*request.source, sourceMetrics, nullptr);
  }

  /// Holds the map against the two files, by the checker that shares no code with what makes maps.
  void prove() {
    if (!map || contents.isGuessed)
      return;
    phase("checking");
    view::Proof &proof = contents.proof.emplace();
    proof.withSource = sourceFile() != nullptr;
    proof.violations =
        origin::check(*map, request.result.file->view(), sourceFile() ? &sourceFile()->view() : nullptr, proof.skipped);
    if (!sourceFile() || !map->source.namesKnown)
      return;
    if (kindOf(request.source->path) != FileKind::Onnx)
      llvm::append_range(proof.violations, checkDebugLines(*map, *sourceFile()));
    else if (auto wrong = checkLayers(*map, request.source->path, "", proof.skipped))
      llvm::append_range(proof.violations, *wrong);
    else
      proof.skipped.push_back(llvm::toString(wrong.takeError()));
  }

  template <class Read> llvm::Error with(const std::string &path, Read read) {
    auto file = openFile(path);
    if (!file)
      return file.takeError();
    llvm::Error error = read((*file)->getBuffer());
    return error ? inFile(path, std::move(error)) : llvm::Error::success();
  }

  llvm::Error readFiles() {
    contents.histograms = request.histograms;
    if (!map && !(request.history.empty() && request.profiles.empty() && request.errors.empty()))
      return makeError(resultName() + " carries no origin map, which --history, --profile and --errors need");
    if (!request.history.empty())
      if (llvm::Error error = with(request.history, [&](llvm::StringRef text) { return readHistory(text); }))
        return error;
    for (const std::string &path : request.profiles)
      if (llvm::Error error = with(path, [&](llvm::StringRef text) { return join(path, text); }))
        return error;
    if (!request.errors.empty())
      if (llvm::Error error = with(request.errors, [&](llvm::StringRef text) {
            auto errors = view::readErrors(text, map->source);
            if (errors)
              contents.errors = std::move(*errors);
            return errors.takeError();
          }))
        return error;
    if (request.target.empty())
      return llvm::Error::success();
    auto target = loadTarget(request.target);
    if (!target)
      return target.takeError();
    contents.targetName = target->name;
    contents.unsupported = checkTarget(*request.result.imported.model, *target);
    return llvm::Error::success();
  }

  llvm::Error readHistory(llvm::StringRef text) {
    std::vector<size_t> operators;
    for (auto &graph : request.result.imported.model->subgraphs)
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
    const origin::ModelFile &file = *request.result.file;
    std::optional<origin::FileGraph> target, from;
    target.emplace(file.view());
    if (sourceFile())
      from.emplace(sourceFile()->view());
    JoinOptions options;
    if (llvm::any_of(profile->rows, [](const ProfileRow &row) { return !row.details().fingerprint.empty(); }))
      options.fileHash = origin::hex(llvm::SHA256::hash(file.bytes()));
    options.map = &*map;
    auto joined = matchRows(std::move(*profile), map->target, &*target, options);
    if (!joined)
      return joined.takeError();
    if (joined->foreign)
      return makeError("foreign profile: none of its rows is about an operator of this model");
    SplitWeights weights(SplitRule::Macs, *map, from ? &*from : nullptr, &*target);
    if (llvm::Error error = divideTime(*joined, *map, weights))
      return error;
    for (const std::string &text : joined->notes)
      if (request.note)
        request.note(printable(path) + ": " + text);
    contents.profiles.push_back({llvm::sys::path::filename(path).str(), std::move(*joined)});
    return llvm::Error::success();
  }
};

} // namespace

llvm::Expected<std::string> pageData(PageRequest &&request) { return PageMaker(std::move(request)).run(); }

} // namespace origo::commands
