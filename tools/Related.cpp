#include "tools/Related.h"

#include "llvm/ADT/SmallVector.h"

namespace origo::tools {

llvm::Expected<Related> loadRelated(llvm::StringRef source, llvm::StringRef result, PayloadStore &store,
                                    bool tell) {
  auto to = load(result, {}, store);
  if (!to)
    return to.takeError();
  ImportOptions alone;
  alone.origin = OriginMode::Restart;
  auto from = load(source, alone, store);
  if (!from)
    return from.takeError();
  if (from->lineage.source->fingerprint != to->lineage.source->fingerprint) {
    auto continued = load(source, {}, store);
    if (!continued)
      return continued.takeError();
    if (continued->lineage.source->fingerprint == to->lineage.source->fingerprint)
      from = std::move(continued);
    else if (tell)
      note("the origins of " + printable(result, 300) + " do not lead to " + printable(source, 300) +
           ": tensors are paired by the order of operators, or else by name");
  }
  return Related{std::move(*from), std::move(*to)};
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
          if (result && (result->name == word || result->name.starts_with(scope)))
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
