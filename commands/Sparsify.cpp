#include "commands/Sparsify.h"

#include "eval/Dense.h"
#include "eval/Sparse.h"
#include "ir/Versions.h"
#include "ir/edit/Editor.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

namespace origo::commands {

static llvm::Expected<std::vector<int32_t>> numbersOf(llvm::StringRef flag, llvm::StringRef text) {
  std::vector<int32_t> numbers;
  for (llvm::StringRef part : llvm::split(text, ','))
    if (!text.empty() && part.trim().getAsInteger(10, numbers.emplace_back()))
      return makeError("--" + flag + ": \"" + printable(part) + "\" is not a number");
  return numbers;
}

static llvm::Expected<eval::SparseLayout> layoutOf(const SparsifyRequest &request, int rank) {
  auto order = numbersOf("sparsify_traversal_order", request.order);
  auto blockMap = numbersOf("sparsify_block_map", request.blockMap);
  auto blockSize = numbersOf("sparsify_block_size", request.blockSize);
  if (llvm::Error error = firstError(order, blockMap, blockSize))
    return error;
  if (request.format.empty())
    return makeError("--sparsify_format is missing: d or s for each dimension, as in d,s");
  eval::SparseLayout layout{std::move(*order), {}, std::move(*blockMap), std::move(*blockSize)};
  for (llvm::StringRef part : llvm::split(request.format, ',')) {
    part = part.trim();
    if (part != "d" && part != "s")
      return makeError("--sparsify_format: \"" + printable(part) + "\" is neither d nor s");
    layout.sparse.push_back(part == "s");
  }
  for (int i = 0; request.order.empty() && i < rank + static_cast<int>(layout.blockMap.size()); ++i)
    layout.order.push_back(i);
  return layout;
}

static llvm::Expected<Value *> constantNamed(Model &model, llvm::StringRef name) {
  Value *found = nullptr;
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      if (value->name == name && std::exchange(found, value))
        return makeError("several tensors have this name");
  if (!found)
    return makeError("there is no such tensor any more; circledump shows the names");
  if (!isDense(found) || found->isInterface() || found->elementCount() == 0)
    return makeError("is no dense constant with elements of whole bytes inside of the model");
  return found;
}

llvm::Error sparsify(Model &model, const SparsifyRequest &request, PayloadStore &store) {
  auto fail = [&](llvm::Error error) {
    return makeError("--sparsify_tensor \"" + printable(request.tensor) + "\": " + llvm::toString(std::move(error)));
  };
  auto constant = constantNamed(model, request.tensor);
  if (!constant)
    return fail(constant.takeError());
  Value &value = **constant;
  auto layout = layoutOf(request, value.rank());
  if (!layout)
    return layout.takeError();
  if (llvm::Error error = value.payload().materialize())
    return error;
  auto sparse = eval::sparsify(*layout, value.shape, value.payload().bytes(), *bitsPerElement(value.type) / 8);
  if (!sparse)
    return fail(sparse.takeError());
  if (sparse->stored.empty())
    return fail(makeError("holds nothing but zeros, of which nothing would be stored"));
  auto payload = store.make(sparse->stored.size(), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
    std::memcpy(window.data(), sparse->stored.data() + offset, window.size());
  });
  if (!payload)
    return payload.takeError();
  value.buffer = &model.addBuffer(std::move(*payload)); // others may share the one that it had
  const auto *type = wire::Schema::circle().table("SparsityParameters");
  const auto *table = flatbuffers::GetRoot<flatbuffers::Table>(sparse->sparsity.data());
  value.setSparsity(reinterpret_cast<const circle::SparsityParameters *>(model.copyTable(*type, table)));
  value.forEachUse([](Use &use) { use.user()->version = std::max(use.user()->version, lowestVersion(*use.user())); });
  Editor(model).pruneBuffers();
  return llvm::Error::success();
}

} // namespace origo::commands
