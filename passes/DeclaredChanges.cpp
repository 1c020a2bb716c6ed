#include "passes/DeclaredChanges.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

static const Pass *changing(llvm::StringRef name) {
  const Pass *pass = findPass(name);
  return pass && pass->onlyRounding ? pass : nullptr;
}

DeclaredChanges::DeclaredChanges(const Model &model) : model(model) {
  for (const Tombstone &stone : model.tombstones)
    for (llvm::StringRef name : model.passLists.get(stone.pass))
      if (const Pass *pass = changing(name); pass && !stone.ofTensors)
        gone[pass].push_back(stone.ids);
}

const Pass *DeclaredChanges::behind(const Value &value, std::optional<uint32_t> source) const {
  if (const Operator *op = value.producer())
    for (llvm::StringRef name : model.passLists.get(op->passes))
      if (const Pass *pass = changing(name))
        return pass;
  for (const Relation &relation : value.relations) {
    int32_t producer = model.sourceGraph.producer(relation.tensor);
    if (producer < 0 || (source && *source != relation.tensor))
      continue;
    for (const auto &[pass, sets] : gone)
      if (llvm::any_of(sets, [&](IdSet ids) { return model.sets.contains(ids, static_cast<uint32_t>(producer)); }))
        return pass;
  }
  return nullptr;
}

} // namespace origo
