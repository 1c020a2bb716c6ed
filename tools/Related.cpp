#include "tools/Related.h"

#include "llvm/ADT/SmallVector.h"

namespace origo::tools {

llvm::Expected<Related> loadRelated(llvm::StringRef source, llvm::StringRef result, PayloadStore &store,
                                    bool tell) {
  auto models = steps::relate([&](const ImportOptions &options) { return load(source, options, store); },
                              [&](const ImportOptions &options) { return load(result, options, store); });
  if (models && !models->byOrigins && tell)
    note("the origins of " + printable(result, 300) + " do not lead to " + printable(source, 300) +
         ": tensors are paired by the order of operators, or else by name");
  return models;
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
