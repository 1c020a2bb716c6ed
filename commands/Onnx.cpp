#include "commands/Onnx.h"

#include "commands/Files.h"
#include "import/onnx/Onnx.h"
#include "ir/Undetermined.h"
#include "passes/Pipeline.h"
#include "passes/onnx/LowerOnnx.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

namespace {

/// What is left, and why.
llvm::Error notLowered(const Model &model, const llvm::DenseMap<const Operator *, std::string> &reasons) {
  constexpr size_t most = 10;
  std::string text;
  size_t count = 0;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      llvm::StringRef name = op.customCode();
      if (!name.consume_front(onnxPrefix))
        continue;
      // What only waits for an operator in front of it would be taken.
      auto waits = [](const Use &use) { return use.get() && isUndetermined(*use.get()); };
      if ((isLoweredFromOnnx(name) && llvm::any_of(op.operands(), waits)) || count++ >= most)
        continue;
      auto reason = reasons.find(&op);
      text += (count == 1 ? "" : "; ") + printable(name) + " \"" +
              printable(op.result() ? op.result()->name.str() : "") +
              "\": " + (reason == reasons.end() ? "nothing of circle stands for it" : reason->second);
    }
  if (count == 0)
    return llvm::Error::success();
  if (count > most)
    text += "; and " + std::to_string(count - most) + " more";
  return makeError(std::to_string(count) + (count == 1 ? " operator is" : " operators are") + " not taken: " + text);
}

llvm::Expected<InputShapes> parsed(llvm::ArrayRef<std::string> shapes) {
  InputShapes known;
  for (llvm::StringRef shape : shapes) {
    auto [name, sizes] = shape.rsplit('=');
    auto &list = known[name];
    bool isWhole = !name.empty() && list.empty();
    for (auto [size, rest] = sizes.split(','); !size.empty(); std::tie(size, rest) = rest.split(',')) {
      int32_t number = 0;
      isWhole &= !size.getAsInteger(10, number) && number >= 0;
      list.push_back(number);
    }
    if (!isWhole)
      return makeError("--shape: \"" + printable(shape) + "\" is not NAME=1,3,224,224");
  }
  return known;
}

/// The nodes, as they are listed as the source.
llvm::Expected<Imported> nodesOf(std::shared_ptr<MappedFile> file, const InputShapes &shapes) {
  auto model = importOnnx(file, shapes);
  if (!model)
    return model.takeError();
  auto imported = asOwnSource(std::move(*model), llvm::sys::path::filename(file->path()), "onnx");
  if (imported)
    imported->bytes = file->bytes().size();
  return imported;
}

llvm::Expected<Imported> import(std::shared_ptr<MappedFile> file, PayloadStore &store,
                                llvm::ArrayRef<std::string> shapes) {
  auto known = parsed(shapes);
  if (!known)
    return known.takeError();
  auto nodes = nodesOf(file, *known);
  if (!nodes)
    return nodes;
  Imported imported = std::move(*nodes);
  // The source is the file, whatever shapes were asked for.
  if (!known->empty()) {
    if (auto asWritten = nodesOf(file, {}))
      imported.lineage.source = asWritten->lineage.source;
    else
      llvm::consumeError(asWritten.takeError());
  }
  Pipeline pipeline;
  pipeline.add(lowerOnnx());
  pipeline.add(*findPass("fold-constants")); // shapes and axes that are computed from constants
  llvm::DenseMap<const Operator *, std::string> reasons;
  RunOptions options;
  options.onAttempt = [&](const Operator &op, IdSet, const Pass &pass, const Rule &, llvm::StringRef reason) {
    if (&pass != &lowerOnnx() || reason.empty())
      return;
    reasons[&op] = reason.str();
  };
  options.onRefusal = [&](llvm::StringRef text) { imported.notes.push_back(text.str()); };
  if (llvm::Error error = runPipeline(*imported.model, pipeline, store, options))
    return error;
  if (llvm::Error error = notLowered(*imported.model, reasons))
    return error;
  imported.rememberEnds();
  return imported;
}

} // namespace

llvm::Expected<Imported> readOnnxNodes(llvm::StringRef path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  auto nodes = nodesOf(std::move(*file), {});
  return nodes ? std::move(nodes) : inFile(path, nodes.takeError());
}

llvm::Expected<Imported> readOnnx(std::shared_ptr<MappedFile> file, PayloadStore &store,
                                  llvm::ArrayRef<std::string> shapes) {
  std::string path = file->path();
  auto imported = import(std::move(file), store, shapes);
  return imported ? std::move(imported) : inFile(path, imported.takeError());
}

} // namespace origo::commands
