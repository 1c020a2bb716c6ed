#include "commands/Divide.h"
#include "commands/Files.h"
#include "ir/text/Text.h"
#include "tests/fuzz/FuzzModels.h"
#include "tests/fuzz/Random.h"

#include "llvm/ADT/STLExtras.h"

using namespace origo;

namespace {

constexpr int64_t mostWork = 4'000'000; ///< multiply-adds, about: each check runs the model dozens of times
constexpr uint64_t mostBytes = 1 << 20; ///< of constants

/// An upper bound of an operator's multiply-adds: each element of the result takes a channel's share of the weights.
int64_t workOf(const Operator &op) {
  int64_t results = 1, weights = 1;
  for (const Value *value : op.results())
    results = std::max<int64_t>(results, value ? static_cast<int64_t>(value->elementCount().value_or(mostWork)) : 0);
  for (const Use &use : op.operands())
    if (const Value *value = use.get()) {
      int64_t count = static_cast<int64_t>(value->elementCount().value_or(mostWork));
      weights = std::max(weights, value->isConstant() ? count : int64_t{1});
      results = std::max(results, value->isConstant() ? int64_t{0} : count);
    }
  const Value *result = op.results().empty() ? nullptr : op.result();
  int64_t channels = result && result->rank() && result->shape.back() > 0 ? result->shape.back() : 1;
  return results > mostWork ? results : results * std::max<int64_t>(1, weights / channels);
}

uint64_t constantBytes(const Operator &op) {
  uint64_t bytes = 0;
  for (const Use &use : op.operands())
    if (const Value *value = use.get(); value && value->isConstant())
      bytes += value->payload().size();
  return bytes;
}

} // namespace

std::string fuzz::randomPart(llvm::ArrayRef<std::string> files, uint64_t seed) {
  Random random(seed);
  PayloadStore store;
  auto imported = commands::read(random.of(files), {}, store);
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return "";
  }
  Model &model = *imported->model;
  model.number();
  auto &graph = *random.of(model.subgraphs);
  std::vector<Operator *> operators;
  for (Operator &op : graph.operators)
    operators.push_back(&op);
  if (operators.empty())
    return "";
  constexpr unsigned lengths[] = {1, 2, 3, 5, 8, 13, 21, 34};
  const unsigned begin = random.below(static_cast<unsigned>(operators.size())), length = random.of(lengths);
  const bool withHoles = random.once(3);
  std::vector<Operator *> kept;
  int64_t work = 0;
  uint64_t bytes = 0;
  for (Operator *op : llvm::ArrayRef(operators).slice(begin).take_front(length)) {
    work += workOf(*op);
    bytes += constantBytes(*op);
    if (work > mostWork || bytes > mostBytes)
      break;
    if (!withHoles || !random.once(3))
      kept.push_back(op);
  }
  auto nowhere = [](const Operator *, const Subgraph &) -> const Part * { return nullptr; };
  if (kept.empty())
    return "";
  if (llvm::Error error = commands::keepOnly(*imported, store, "select-operators", kept, nowhere)) {
    llvm::consumeError(std::move(error));
    return "";
  }
  model.format = Format::Circle; // which can hold what passes make
  model.version = 0;
  model.archive = Payload(); // it knows at which byte of a file it lies
  for (auto &graph : model.subgraphs) {
    // Written files have names, empty ones at least.
    graph->name = graph->name.data() ? graph->name : "";
    for (Value *value : graph->values)
      if (!value->name)
        value->name = "";
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  PrintOptions options;
  options.inlineBytes = 2 * mostBytes;
  options.layout = false;
  printText(model, os, options);
  return text;
}
