#include "eval/Distance.h"
#include "tests/RandomInputs.h"
#include "tests/fuzz/Import.h"

using namespace origo;
using namespace origo::eval;

namespace {

struct Result {
  std::string error;    ///< empty: it ran
  bool limited = false; ///< by time or memory, which the engines need differently
  std::vector<NamedTensor> outputs;
};

Result failed(llvm::Error error) {
  Result result;
  llvm::handleAllErrors(std::move(error), [&](const EvalError &e) {
    llvm::raw_string_ostream os(result.error);
    e.log(os);
    os << "\n";
    result.limited |= e.code == ErrorCode::Timeout || e.code == ErrorCode::MemoryLimit;
  });
  return result;
}

Result runOn(Engine engine, Model &model) {
  CompileOptions options;
  options.engine = engine;
  options.memoryLimit = 64 << 20;
  options.timeout = std::chrono::milliseconds(500);
  options.iterationLimit = 100;
  auto session = compile(model, options);
  if (!session)
    return failed(session.takeError());
  auto inputs = test::randomInputs(*session->inputs(), 1);
  if (!inputs)
    return {"no such inputs", true, {}};
  std::vector<TensorRef> refs(inputs->begin(), inputs->end());
  State state;
  RunOptions run;
  run.state = &state;
  auto outputs = session->run(llvm::ArrayRef(refs), run);
  if (!outputs)
    return failed(outputs.takeError());
  // Once more, with the memory that is there now. Variables are others then.
  if (auto again = session->run(llvm::ArrayRef(refs), run); !again)
    llvm::consumeError(again.takeError());
  return {"", false, std::move(*outputs)};
}

/// Numbers of which sums and products depend on their order, or are none.
bool extreme(const OwnedTensor &tensor) {
  return tensor.type == TensorType::FLOAT32 &&
         llvm::any_of(floatsIn(tensor), [](float value) { return !(std::fabs(value) < 1e15f); });
}

} // namespace

/// On any model that can be read, the engines refuse the same; a single operator computes the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto imported = importBytes(data, size);
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return 0;
  }
  const std::unique_ptr<Model> &model = imported->model;
  uint64_t elements = 0;
  for (const auto &graph : model->subgraphs)
    for (const Value *value : graph->values)
      elements += value->elementCount().value_or(0);
  if (elements > 1 << 20 || test::multiplyAdds(*model) > 1 << 24)
    return 0;
  Result reference = runOn(Engine::Reference, *model), fast = runOn(Engine::Fast, *model);
  if (reference.limited || fast.limited)
    return 0;
  if (reference.error != fast.error) {
    llvm::errs() << "reference: " << reference.error << "\nfast: " << fast.error << "\n";
    __builtin_trap();
  }
  if (model->subgraphs.size() > 1 || model->subgraphs[0]->operators.size() > 1)
    return 0;
  for (size_t i = 0; i < reference.outputs.size(); ++i) {
    const OwnedTensor &x = reference.outputs[i].tensor, &y = fast.outputs[i].tensor;
    double far = extreme(x) ? 0 : eval::distance(x, y);
    if (far > (x.type == TensorType::FLOAT32 ? 1e-4 : 1)) {
      llvm::errs() << "output " << i << " is " << far << " off\n";
      __builtin_trap();
    }
  }
  return 0;
}
