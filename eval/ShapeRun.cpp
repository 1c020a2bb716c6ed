#include "eval/Plan.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval {

namespace {

/// Values up to this size are computed where they can be: lists of axes, sizes and shapes.
constexpr uint64_t smallValue = 4096;

class ShapeContext : public KernelContext {
public:
  explicit ShapeContext(const Operator &op) : KernelContext(op), values(op.results().size()) {}
  std::vector<std::vector<uint8_t>> values;

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t>,
                                                          uint64_t bytes) override {
    if (bytes > smallValue)
      return fail("is no list of axes, sizes or shapes");
    values[i].resize(bytes);
    return llvm::MutableArrayRef<uint8_t>(values[i]);
  }
};

/// What goes wrong here does so again in the run, and is told then.
bool succeeds(llvm::Error error) {
  bool failed = static_cast<bool>(error);
  llvm::consumeError(std::move(error));
  return !failed;
}

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

std::vector<Tensor> ShapeRun::run(const Plan &plan, llvm::ArrayRef<Tensor> inputs, std::vector<bool> *settled) {
  constexpr uint64_t each = 64; // times that a step may be called in another way
  stepsLeft += each * plan.steps.size();
  return through(plan, inputs, settled);
}

std::vector<Tensor> ShapeRun::through(const Plan &plan, llvm::ArrayRef<Tensor> inputs, std::vector<bool> *settled) {
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
  for (const Step &step : plan.steps) {
    bool isSettled = step.kernel && runStep(step, tensors);
    if (!step.kernel)
      runCall(step, tensors);
    if (settled)
      settled->push_back(isSettled);
  }
  return tensors;
}

bool ShapeRun::runStep(const Step &step, std::vector<Tensor> &tensors) {
  bool known = step.op->effects() == 0, ranksKnown = true;
  ShapeContext context(*step.op);
  for (int slot : step.operands) {
    Tensor *tensor = slot >= 0 ? &tensors[slot] : nullptr;
    context.inputs.push_back(tensor);
    if (!tensor)
      continue;
    ranksKnown &= tensor->rankKnown;
    known &= tensor->known;
  }
  std::vector<Tensor> results(step.results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (step.results[i] >= 0)
      results[i] = tensors[step.results[i]];
    context.outputs.push_back(step.results[i] >= 0 ? &results[i] : nullptr);
  }
  if (!succeeds(step.kernel->shape(context)))
    return false;
  bool byRule = step.kernel->shapes == ShapesFrom::Rule, settled = byRule && ranksKnown && !context.readElements;
  const OperatorInfo *info = step.op->info();
  known |= info && info->has(Trait::ShapeQuery);
  known = known && ranksKnown && (!byRule || succeeds(context.makeRoom())) && succeeds(step.kernel->compute(context));
  if (!known && !byRule)
    return false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (step.results[i] < 0)
      continue;
    results[i].rankKnown = true;
    results[i].known = known;
    results[i].storage = {};
    if (known)
      results[i].storage = values.emplace_back(std::move(context.values[i]));
    tensors[step.results[i]] = results[i];
  }
  return settled;
}

/// All that what is called can see of its inputs.
static std::string signatureOf(llvm::ArrayRef<Tensor> inputs) {
  std::string text;
  auto add = [&](const void *bytes, size_t size) { text.append(static_cast<const char *>(bytes), size); };
  auto number = [&](uint64_t number) { add(&number, sizeof(number)); };
  for (const Tensor &input : inputs) {
    number(uint64_t(input.type) << 2 | uint64_t(input.rankKnown) << 1 | uint64_t(input.known));
    number(input.shape.size());
    add(input.shape.data(), input.shape.size() * sizeof(input.shape[0]));
    if (!input.known)
      continue;
    number(reinterpret_cast<uintptr_t>(input.quantization));
    number(input.storage.size());
    if (input.storage.size() <= smallValue)
      add(input.storage.data(), input.storage.size());
    else
      number(reinterpret_cast<uintptr_t>(input.storage.data()));
  }
  return text;
}

std::vector<Tensor> ShapeRun::call(const Plan &plan, llvm::ArrayRef<Tensor> inputs) {
  auto [known, isNew] = called.try_emplace({&plan, signatureOf(inputs)});
  if (!isNew)
    return known->second;
  std::vector<Tensor> outputs;
  if (plan.steps.size() < stepsLeft) {
    stepsLeft -= plan.steps.size() + 1;
    std::vector<Tensor> all = through(plan, inputs, nullptr);
    for (int slot : plan.outputs)
      outputs.push_back(all[slot]);
  } else {
    for (int slot : plan.outputs) {
      outputs.push_back(stated(*plan.slots[slot].value));
      outputs.back().rankKnown = false;
    }
  }
  return known->second = std::move(outputs);
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
