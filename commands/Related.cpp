#include "commands/Related.h"

#include "commands/Files.h"
#include "commands/Onnx.h"
#include "commands/Option.h"
#include "export/Writer.h"
#include "origin/Naming.h"
#include "origin/codec/OriginFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Signals.h"

namespace origo::commands {

llvm::Expected<Related> relate(llvm::function_ref<llvm::Expected<Imported>(const ImportOptions &)> readSource,
                               llvm::function_ref<llvm::Expected<Imported>(const ImportOptions &)> readResult) {
  auto to = readResult({});
  if (!to)
    return to.takeError();
  ImportOptions alone;
  alone.origin = OriginMode::Restart;
  auto from = readSource(alone);
  if (!from)
    return from.takeError();
  bool byOrigins = from->lineage.source->fingerprint == to->lineage.source->fingerprint;
  if (!byOrigins) {
    auto continued = readSource({});
    if (!continued)
      return continued.takeError();
    byOrigins = continued->lineage.source->fingerprint == to->lineage.source->fingerprint;
    if (byOrigins)
      from = std::move(continued);
  }
  return Related{std::move(*from), std::move(*to), byOrigins};
}

llvm::Expected<Related> loadRelated(llvm::StringRef source, llvm::StringRef result, PayloadStore &store,
                                    const Door &door, bool tell) {
  auto models = relate([&](const ImportOptions &options) { return load(source, options, store, door); },
                       [&](const ImportOptions &options) { return load(result, options, store, door); });
  if (models && !models->byOrigins && tell)
    door.note("the origins of " + printable(result, 300) + " do not lead to " + printable(source, 300) +
              ": tensors are paired by the order of operators, or else by name");
  return models;
}

llvm::Error takeMap(ImportOptions &options, const std::string &model, const std::string &map, const Door &door) {
  auto file = origin::openOriginFile(model, map, false);
  if (!file)
    return file.takeError();
  if (!file->model)
    return makeError(printable(model, 300) + " is a side file; its model is needed");
  for (const std::string &text : file->notes)
    door.note(text);
  if (file->map)
    options.map = std::make_shared<const origin::OriginMap>(std::move(*file->map));
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<origin::ModelFile>> openModelFile(llvm::StringRef path, const Door &door) {
  if (!isConverted(path))
    return origin::ModelFile::open(path);
  PayloadStore store;
  auto imported = kindOf(path) == FileKind::Onnx ? readOnnxNodes(path) : load(path, {}, store, door);
  if (!imported)
    return imported.takeError();
  llvm::SmallString<128> written;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("origo-source", "model", written))
    return makeError("no file for what " + printable(path, 300) + " is as a model: " + error.message());
  llvm::FileRemover remover(written);
  llvm::sys::RemoveFileOnSignal(written);
  auto forget = llvm::make_scope_exit([&] { llvm::sys::DontRemoveFileOnSignal(written); });
  ExportOptions options;
  options.format = imported->model->format;
  options.embed = origin::Embed::None;
  if (llvm::Error error = exportModel(*imported->model, imported->lineage, written, options))
    return inFile(path, std::move(error));
  return origin::ModelFile::open(written);
}

quantize::SourceLayers sourceLayers(const origin::Lineage &lineage) {
  quantize::SourceLayers layers;
  if (!lineage.source || !lineage.source->namesKnown)
    return layers;
  for (const origin::SourceSubgraph &graph : lineage.source->subgraphs)
    for (const auto &[i, op] : llvm::enumerate(graph.operators)) {
      layers.resize(std::max<size_t>(layers.size(), size_t(graph.firstOperator) + i + 1));
      quantize::SourceLayer &layer = layers[graph.firstOperator + i];
      layer.kind = std::string(op.op == "CUSTOM" ? op.customCode : op.op);
      for (int32_t id : op.tensors)
        if (const origin::SourceTensor *tensor = id < 0 ? nullptr : lineage.source->findTensor(uint32_t(id))) {
          std::string_view name = tensor->name;
          origin::NamedLayer named = origin::layerOfName(name);
          layer.names.push_back(name);
          layer.scopes.append(named.scopes.begin(), named.scopes.begin() + named.depth);
        }
      if (op.layer)
        layer.names.push_back(op.layer->path);
    }
  return layers;
}

llvm::Expected<report::Layers> layersNamed(const Imported &source, llvm::StringRef list) {
  quantize::Parts parts(*source.model, sourceLayers(source.lineage));
  auto named = parts.named(splitList(list));
  if (!named)
    return named.takeError();
  return report::Layers(named->begin(), named->end());
}

} // namespace origo::commands
