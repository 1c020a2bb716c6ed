#include "tools/Related.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Signals.h"

namespace origo::tools {

llvm::Expected<std::unique_ptr<origin::ModelFile>> openModelFile(llvm::StringRef path) {
  if (kindOf(path) != FileKind::Text)
    return origin::ModelFile::open(path);
  PayloadStore store;
  auto imported = load(path, {}, store);
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
          if (result && (result->name == word || result->name.text().starts_with(scope)))
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

} // namespace origo::tools
