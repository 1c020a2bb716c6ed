#include "commands/Related.h"

#include "commands/Files.h"
#include "commands/Onnx.h"
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

llvm::Expected<report::Layers> layersNamed(const Model &source, llvm::StringRef list) {
  report::Layers layers;
  llvm::SmallVector<llvm::StringRef> words;
  list.split(words, ',', -1, false);
  for (llvm::StringRef word : words) {
    size_t before = layers.size();
    std::string scope = word.ends_with("/") ? word.str() : word.str() + "/";
    unsigned number = 0;
    bool isNumber = !word.getAsInteger(10, number);
    for (const auto &graph : source.subgraphs)
      for (const Operator &op : graph->operators)
        for (const Value *result : op.results())
          if (result && (result->name == word || llvm::is_contained(origin::scopesOfName(result->name.text()), scope)))
            layers.insert(&op);
    if (layers.size() == before && isNumber)
      for (const Operator &op : source.subgraphs[0]->operators)
        if (op.index == number)
          layers.insert(&op);
    if (layers.size() == before)
      return makeError("no operator of the source, and no scope, is called \"" + printable(word) + "\"");
  }
  return layers;
}

} // namespace origo::commands
