#include "tests/fuzz/Import.h"

using namespace origo;

/// Any bytes end in a model or in an error of one line that names the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::Expected<Imported> imported = importBytes(data, size);
  if (!imported) {
    std::string error = llvm::toString(imported.takeError());
    if (error.rfind("fuzz.circle: ", 0) != 0 || error.find('\n') != std::string::npos)
      __builtin_trap();
    return 0;
  }
  // What passes do with every operator must be safe on whatever was let in.
  Model &model = *imported->model;
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  model.ledger(lost);
  if (!lost.empty())
    __builtin_trap();
  for (auto &graph : model.subgraphs) {
    for (Operator &op : graph->operators)
      (void)op.effects();
    for (const Value *value : graph->values)
      if (value->isConstant() && value->isStatic())
        (void)value->payload().sameBytes(Payload());
  }
  return 0;
}
