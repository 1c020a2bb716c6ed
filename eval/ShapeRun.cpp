#include "eval/Plan.h"

#include "schema/TensorTypes.h"

#include <cstdlib>

namespace origo::eval {

namespace {

/// A kernel was stopped behind its last output.
class Stopped : public llvm::ErrorInfo<Stopped> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override { os << "only shapes are wanted"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};
char Stopped::ID;

/// Values up to this size are computed where they can be: lists of axes, sizes and shapes.
constexpr uint64_t smallValue = 4096;

class ShapeContext : public KernelContext {
public:
  ShapeContext(const Operator &op, bool compute) : KernelContext(op), compute(compute), values(op.results().size()) {}
  bool compute;
  unsigned missing = 0; ///< outputs not asked for yet
  bool looked = false;  ///< unknown elements were looked at before
  std::vector<std::vector<uint8_t>> values;

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t> shape,
                                                          uint64_t bytes) override {
    outputs[i]->shape.assign(shape.begin(), shape.end());
    outputs[i]->rankKnown = true;
    compute &= bytes <= smallValue;
    for (const Tensor *tensor : inputs)
      looked |= tensor && tensor->lookedAt;
    if (--missing == 0 && !compute)
      return llvm::make_error<Stopped>();
    // Outputs before the last one are small or never written to.
    values[i].resize(compute ? bytes : 0);
    return llvm::MutableArrayRef<uint8_t>(values[i]);
  }
};

} // namespace

Tensor ShapeRun::stated(const Value &value) {
  Tensor tensor;
  tensor.type = value.type;
  tensor.quantization = value.quantization;
  tensor.value = &value;
  tensor.shape.assign(value.shape.begin(), value.shape.end());
  tensor.known = false;
  tensor.rankKnown = value.isStatic();
  return tensor;
}

uint8_t *ShapeRun::zerosOf(uint64_t bytes) {
  if (bytes > zeroBytes || zeros.empty()) {
    // Pages that nobody reads take no memory.
    zeros.emplace_back(static_cast<uint8_t *>(std::calloc(std::max<uint64_t>(bytes, 64), 1)), &std::free);
    zeroBytes = zeros.back() ? bytes : 0;
  }
  return zeros.back().get();
}

std::vector<Tensor> ShapeRun::run(const Plan &plan, llvm::ArrayRef<Tensor> inputs) {
  std::vector<Tensor> tensors;
  for (const Slot &slot : plan.slots) {
    tensors.push_back(stated(*slot.value));
    if (slot.kind == Slot::Kind::Computed)
      tensors.back().rankKnown = false;
    if (slot.constant) {
      tensors.back().known = true;
      tensors.back().storage = slot.constant->bytes;
    }
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (plan.inputs[i] >= 0)
      tensors[plan.inputs[i]] = inputs[i];
  for (const Step &step : plan.steps)
    if (step.kernel)
      runStep(step, tensors);
    else
      runCall(step, tensors);
  return tensors;
}

void ShapeRun::runStep(const Step &step, std::vector<Tensor> &tensors) {
  bool known = step.op->effects() == 0;
  for (int slot : step.operands)
    if (slot >= 0) {
      if (!tensors[slot].rankKnown)
        return;
      known &= tensors[slot].known;
    }
  const OperatorInfo *info = step.op->info();
  ShapeContext context(*step.op, known || (info && info->has(Trait::ShapeQuery)));
  std::vector<Tensor> operands;
  operands.reserve(step.operands.size());
  for (int slot : step.operands) {
    if (slot < 0) {
      context.inputs.push_back(nullptr);
      continue;
    }
    operands.push_back(tensors[slot]);
    Tensor &tensor = operands.back();
    if (!tensor.known) {
      auto bytes = payloadBytes(tensor.type, static_cast<uint64_t>(tensor.count()));
      uint8_t *data = bytes && *bytes <= memoryLimit ? zerosOf(*bytes) : nullptr;
      if (!data && bytes.value_or(1) != 0)
        return;
      tensor.storage = {data, static_cast<size_t>(*bytes)};
      tensor.lookedAt = false;
    }
    context.inputs.push_back(&tensor);
  }
  std::vector<Tensor> results(step.results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (step.results[i] >= 0) {
      results[i] = tensors[step.results[i]];
      ++context.missing;
    }
    context.outputs.push_back(step.results[i] >= 0 ? &results[i] : nullptr);
  }
  bool stopped = false;
  if (llvm::Error error = step.kernel->run(context)) {
    stopped = error.isA<Stopped>();
    llvm::consumeError(std::move(error));
    if (!stopped)
      return; // it is going to fail when it runs, and says why then
  }
  if (context.looked || context.missing)
    return;
  for (size_t i = 0; i < results.size(); ++i) {
    if (step.results[i] < 0)
      continue;
    results[i].known = !stopped && context.compute;
    results[i].lookedAt = false; // by the kernel that made it
    results[i].storage = {};
    if (results[i].known)
      results[i].storage = values.emplace_back(std::move(context.values[i]));
    tensors[step.results[i]] = results[i];
  }
}

std::vector<Tensor> ShapeRun::call(const Plan &plan, llvm::ArrayRef<Tensor> inputs) {
  std::vector<Tensor> all = run(plan, inputs), outputs;
  for (int slot : plan.outputs)
    outputs.push_back(all[slot]);
  return outputs;
}

void ShapeRun::runCall(const Step &step, std::vector<Tensor> &tensors) {
  std::vector<Tensor> operands;
  for (int slot : step.operands) {
    if (slot < 0)
      return;
    operands.push_back(tensors[slot]);
  }
  auto sameShapes = [](llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b) {
    if (a.size() != b.size())
      return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!a[i].rankKnown || !b[i].rankKnown || a[i].shape != b[i].shape)
        return false;
    return true;
  };
  std::vector<Tensor> results;
  switch (step.op->code) {
  case BuiltinOperator::IF: {
    llvm::ArrayRef<Tensor> arguments = llvm::ArrayRef(operands).drop_front();
    results = call(*step.callees[0], arguments);
    if (!sameShapes(results, call(*step.callees[1], arguments)))
      return;
    break;
  }
  case BuiltinOperator::WHILE:
    for (Tensor &tensor : operands)
      tensor.known = false;
    results = call(*step.callees[1], operands);
    if (!sameShapes(results, operands))
      return;
    break;
  case BuiltinOperator::CALL_ONCE:
    return;
  default:
    results = call(*step.callees[0], operands);
  }
  for (size_t i = 0; i < step.results.size() && i < results.size(); ++i)
    if (int slot = step.results[i]; slot >= 0 && results[i].rankKnown) {
      tensors[slot].shape = results[i].shape;
      tensors[slot].rankKnown = true;
    }
}

} // namespace origo::eval
