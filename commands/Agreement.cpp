#include "commands/Agreement.h"

#include "commands/Errors.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Records.h"
#include "commands/Related.h"
#include "import/Lineage.h"
#include "report/infer/Infer.h"

#include "llvm/Support/Path.h"

namespace origo::commands {

using namespace report;

namespace {

/// Pairs them by what they compute. `summary` is what is said of that.
llvm::Expected<Related> inferred(const std::string &first, const std::string &second, PayloadStore &store,
                                 const Door &door, std::string &summary) {
  for (const std::string &path : {first, second})
    if (kindOf(path) == FileKind::Onnx)
      return makeError(printable(path, 300) + ": no origins lead from one model to the other, and nodes of ONNX are "
                                              "paired with nothing else: give what onnx2circle makes of it");
  ImportOptions alone;
  alone.origin = OriginMode::Restart;
  auto source = load(first, alone, store, door), result = load(second, alone, store, door);
  if (!source || !result)
    return firstError(source, result);
  auto sourceFile = openModelFile(first, door), resultFile = openModelFile(second, door);
  if (!sourceFile || !resultFile)
    return firstError(sourceFile, resultFile);
  door.phase("pairing");
  auto made = infer(*source, (*sourceFile)->view(), *result, (*resultFile)->view());
  if (!made)
    return made.takeError();
  summary = summaryOf(*made);
  // A map that it carries leads elsewhere.
  ImportOptions without;
  without.origin = OriginMode::None;
  auto known = load(second, without, store, door);
  if (!known)
    return known.takeError();
  origin::Digest fingerprint = made->map.target.fingerprint, content = made->map.target.content;
  if (llvm::Error error =
          continueMap(std::move(made->map), fingerprint, content, second, result->lineage.source->format, true, *known))
    return error;
  return Related{std::move(*source), std::move(*known), true};
}

/// Layers and lines of the operators of a model that was read alone, as its own origin map tells them.
void takeLayers(Imported &alone, const Imported &known) {
  const origin::Listing &from = *known.lineage.source;
  auto source = std::make_shared<origin::Listing>(*alone.lineage.source);
  if (source->operatorCount() != known.model->operatorCount() || known.lineage.chain.empty())
    return;
  for (auto [graph, made] : llvm::zip(source->subgraphs, known.model->subgraphs))
    for (auto [op, written] : llvm::zip(graph.operators, made->operators))
      known.model->sets.forEach(written.origins, [&, &op = op](uint32_t id) {
        const origin::SourceOperator *first = from.findOperator(id);
        if (first && first->layer && !op.layer)
          op.layer = first->layer;
      });
  source->files = from.files;
  source->frames = from.frames;
  source->stacks = from.stacks;
  alone.lineage.source = std::move(source);
}

} // namespace

llvm::Error compareLayers(const std::string &first, const std::string &second, const std::string &data, AgreementBy by,
                          bool json, const Door &door) {
  PayloadStore store;
  auto models = loadRelated(first, second, store, door, false);
  std::string summary;
  if (models && !models->byOrigins)
    models = inferred(first, second, store, door, summary);
  if (!models)
    return models.takeError();
  if (!summary.empty()) {
    auto known = load(first, {}, store, door);
    if (!known)
      return known.takeError();
    takeLayers(models->source, *known);
  }
  // What only one of them calls by names in a signature, the other one takes in its own order.
  if (models->source.model->signatures.empty() != models->result.model->signatures.empty()) {
    models->source.model->signatures.clear();
    models->result.model->signatures.clear();
  }
  ErrorOptions options;
  options.own = false;
  options.compile.engine = eval::Engine::Fast;
  auto run = ErrorRun::of(models->source, models->result, options);
  if (!run)
    return run.takeError();
  RecordsRequest asked;
  asked.data = data;
  RecordsOpener opener(asked, door);
  if (asked.isRandom())
    door.note("inputs are random numbers; give " + door.spell("data"));
  door.phase("executing");
  auto open = [&](llvm::ArrayRef<eval::Port> inputs,
                  llvm::StringRef signature) -> llvm::Expected<std::unique_ptr<quantize::Records>> {
    return asked.isRandom() ? quantize::seededRecords(inputs, 2) : opener(inputs, signature);
  };
  auto records = runRecords(*run, open, {});
  if (!records)
    return records.takeError();
  door.phase(nullptr);
  auto rows = run->rows();
  ErrorReport report{*models->source.model,
                     rows,
                     llvm::sys::path::filename(first).str(),
                     llvm::sys::path::filename(second).str(),
                     run->pairs().by,
                     records->size(),
                     models->source.lineage.source.get()};
  if (json) {
    JsonOutput os;
    printAgreementJson(report, by, summary, os);
  } else {
    printAgreement(report, by, llvm::outs());
    llvm::outs() << (summary.empty() ? "" : "paired by what they compute: " + summary);
  }
  return llvm::Error::success();
}

} // namespace origo::commands
