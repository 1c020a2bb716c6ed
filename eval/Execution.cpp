#include "eval/Execution.h"

#include "schema/Macs.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <cstring>
#include <utility>

namespace origo::eval {

/// Kept in the frame: operands and results are the same tensors in every run.
class StepContext : public KernelContext {
public:
  StepContext(Frame &frame, const Step &step) : KernelContext(*step.op), frame(frame), step(step) {
    for (int slot : step.operands)
      inputs.push_back(slot >= 0 ? &frame.tensors[slot] : nullptr);
    for (int slot : step.results)
      outputs.push_back(slot >= 0 ? &frame.tensors[slot] : nullptr);
    settled = step.settled;
    for (const Tensor *operand : inputs)
      operandShapes.push_back(operand ? operand->shape : Shape());
    for (int slot : step.reads())
      fastInputs.push_back(slot >= 0 ? &frame.tensors[slot] : nullptr);
  }
  llvm::SmallVector<Tensor *, 6> fastInputs; ///< of a kernel that does another step's work, too
  Execution *execution = nullptr;            ///< the run

  /// Gives results their shapes. Nothing is to do where operands have the shapes of the last run, or of the plan, and
  /// no elements matter.
  llvm::Error shapeResults() {
    bool same = settled;
    for (size_t i = 0; same && i < inputs.size(); ++i)
      same = !inputs[i] || inputs[i]->shape == operandShapes[i];
    if (same)
      return llvm::Error::success();
    settled = readElements = false;
    counted = false;
    if (llvm::Error error = step.kernel->shape(*this))
      return error;
    settled = step.kernel->shapes == ShapesFrom::Rule && !readElements;
    for (size_t i = 0; settled && i < inputs.size(); ++i)
      if (inputs[i])
        operandShapes[i] = inputs[i]->shape;
    return llvm::Error::success();
  }

  /// Multiply-adds, for the shapes that operands and results have; 0 where they do not tell.
  uint64_t products() {
    if (!counted) {
      OperatorShapes shapes{op.opName(), {}, {}};
      auto add = [](llvm::ArrayRef<Tensor *> tensors, std::vector<std::vector<int64_t>> &list) {
        for (const Tensor *tensor : tensors)
          list.push_back(tensor ? std::vector<int64_t>(tensor->shape.begin(), tensor->shape.end())
                                : std::vector<int64_t>{0});
      };
      add(inputs, shapes.inputs);
      add(outputs, shapes.outputs);
      counts = macs(shapes).value_or(0);
      counted = true;
    }
    return counts;
  }

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t>,
                                                          uint64_t bytes) override {
    return execution->room(frame, step, i, bytes);
  }

private:
  Frame &frame;
  const Step &step;
  bool counted = false; ///< `counts` holds
  uint64_t counts = 0;
  bool settled; ///< results have the shapes that follow from `operandShapes`
  llvm::SmallVector<Shape, 3> operandShapes;
};

Frame::Frame(const Plan &plan)
    : plan(plan), tensors(plan.slots.size()), outside(plan.slots.size()), heap(plan.slots.size()) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (plan.slots[i].shape)
      tensors[i].shape = *plan.slots[i].shape;
  for (const Step &step : plan.steps)
    contexts.push_back(step.kernel ? std::make_unique<StepContext>(*this, step) : nullptr);
}
Frame::~Frame() = default;

llvm::Expected<llvm::MutableArrayRef<uint8_t>> Execution::room(Frame &frame, const Step &step, unsigned result,
                                                               uint64_t bytes) {
  int slot = step.results[result];
  if (llvm::MutableArrayRef<uint8_t> outside = frame.outside[slot]; outside.data() && outside.size() == bytes)
    return outside;
  const Arena::Place &place = frame.arena().places[slot];
  if (place.offset >= 0 && bytes <= place.bytes)
    return llvm::MutableArrayRef<uint8_t>(frame.memory.data.get() + place.offset, static_cast<size_t>(bytes));
  Block &block = frame.heap[slot];
  giveUp(block);
  if (llvm::Error error = acquire(block, bytes, *step.op))
    return error;
  return llvm::MutableArrayRef<uint8_t>(block.data.get(), static_cast<size_t>(bytes));
}

llvm::Error Execution::reserve(uint64_t bytes, const Operator *op) {
  if (bytes > memoryLimit || state.usedBytes + state.resources.used > memoryLimit - bytes) {
    llvm::Twine limit(options.memoryLimit);
    std::string message = ("tensors would take more than the " + limit + " bytes that are allowed").str();
    return op ? evalError(ErrorCode::MemoryLimit, EvalPhase::Run, *op, -1, message)
              : evalError(ErrorCode::MemoryLimit, EvalPhase::Run, message);
  }
  state.usedBytes += bytes;
  return llvm::Error::success();
}

llvm::Error Execution::acquire(Block &block, uint64_t bytes, const Operator &op) {
  // The smallest that is large enough. Where none is, the smallest one makes place: so there are never more of them
  // than there were tensors at the same time.
  auto best = state.spare.end();
  for (auto it = state.spare.begin(); it != state.spare.end(); ++it)
    if (it->bytes >= bytes && (best == state.spare.end() || it->bytes < best->bytes))
      best = it;
  if (best != state.spare.end()) {
    block = std::move(*best);
    state.spare.erase(best);
    return llvm::Error::success();
  }
  auto smallest = llvm::min_element(state.spare, [](auto &a, auto &b) { return a.bytes < b.bytes; });
  if (smallest != state.spare.end()) {
    release(smallest->bytes);
    state.spare.erase(smallest);
  }
  if (llvm::Error error = reserve(bytes, &op)) {
    if (state.spare.empty())
      return error;
    llvm::consumeError(std::move(error));
    for (Block &spare : state.spare)
      release(spare.bytes);
    state.spare.clear();
    if (llvm::Error error = reserve(bytes, &op))
      return error;
  }
  if (!block.allocate(bytes)) {
    release(bytes);
    return evalError(ErrorCode::MemoryLimit, EvalPhase::Run, op, -1, "there is no memory for its result");
  }
  return llvm::Error::success();
}

void Execution::giveUp(Block &block) {
  if (!fast)
    release(block.bytes);
  else if (block.data)
    state.spare.push_back(std::move(block));
  block = {};
}

llvm::Error Execution::checkTime(const Operator &op) const {
  if (deadline && std::chrono::steady_clock::now() > *deadline)
    return evalError(ErrorCode::Timeout, EvalPhase::Run, op, -1, "the run takes longer than allowed");
  return llvm::Error::success();
}

llvm::Error Execution::runEntry(Frame &frame, llvm::ArrayRef<Tensor> inputs) {
  auto sameShape = [](const Tensor &input, const Shape &shape) { return input.shape == shape; };
  if (fast && !frame.plan.shapesKnown && !llvm::equal(inputs, frame.arrangedFor, sameShape)) {
    std::vector<Tensor> shapes(inputs.begin(), inputs.end());
    frame.arrangedFor.clear();
    for (Tensor &input : shapes) {
      input.known = false;
      input.rankKnown = true;
      frame.arrangedFor.push_back(input.shape);
    }
    frame.own = frame.plan.arrange(ShapeRun().run(frame.plan, shapes), options.memoryLimit, frame.plan.filed.order);
    release(frame.memory.bytes);
    frame.memory = {};
  }
  return run(frame, inputs);
}

llvm::Error Execution::run(Frame &frame, llvm::ArrayRef<Tensor> inputs) {
  const Plan &plan = frame.plan;
  if (const Arrangement &wanted = plan.arranged(observer || part || frame.own); &wanted != frame.arranged) {
    release(frame.memory.bytes);
    frame.memory = {};
    frame.arranged = &wanted;
  }
  if (uint64_t bytes = frame.arena().bytes; !frame.memory.data && bytes) {
    if (llvm::Error error = reserve(bytes, nullptr))
      return error;
    if (!frame.memory.allocate(bytes)) {
      release(bytes);
      return evalError(ErrorCode::MemoryLimit, EvalPhase::Run, "there is no memory for the tensors");
    }
  }
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot &slot = plan.slots[i];
    Tensor &tensor = frame.tensors[i];
    tensor.type = slot.value->type;
    tensor.quantization = slot.value->quantization;
    tensor.value = slot.value;
    giveUp(frame.heap[i]);
    if (slot.kind == Slot::Kind::Constant) {
      tensor.shape.assign(slot.value->shape.begin(), slot.value->shape.end());
      tensor.storage = slot.constant->bytes;
    } else if (slot.kind == Slot::Kind::Variable) {
      tensor.shape.assign(slot.value->shape.begin(), slot.value->shape.end());
      auto found = state.variables.find(slot.value);
      if (found == state.variables.end()) {
        auto count = slot.value->elementCount();
        auto bytes = count ? payloadBytes(tensor.type, *count) : std::nullopt;
        if (!bytes)
          return evalError(ErrorCode::BadGraph, EvalPhase::Run, "a variable tensor without a fixed size");
        if (llvm::Error error = reserve(*bytes, nullptr))
          return error;
        uint8_t zero = tensor.type == TensorType::INT8 ? static_cast<uint8_t>(tensor.zeroPoint()) : 0;
        found = state.variables.try_emplace(slot.value).first;
        found->second.reserve(*bytes + readAhead);
        found->second.assign(*bytes, zero);
      }
      tensor.storage = found->second;
    }
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    Tensor &tensor = frame.tensors[plan.inputs[i]];
    tensor.shape = inputs[i].shape;
    tensor.storage = inputs[i].storage;
  }
  std::vector<uint64_t> held(timer ? plan.slots.size() : 0);
  uint64_t liveOutside = liveBytes;
  for (int s : frame.arranged->order) {
    const Step &step = plan.steps[s];
    if (llvm::Error error = checkTime(*step.op))
      return error;
    if (part && !part->computes.contains(step.op)) {
      if (llvm::Error error = takeGiven(frame, step))
        return error;
      continue;
    }
    auto begin = timer ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    if (llvm::Error error = step.kernel ? runKernel(frame, step) : runControlFlow(frame, step))
      return error;
    if (timer) {
      auto end = std::chrono::steady_clock::now();
      countMade(frame, step, held);
      tellTime(plan, step, begin, end);
      for (int slot : frame.arranged->release[s])
        liveBytes -= std::exchange(held[slot], 0);
    }
    if (observer)
      for (int slot : step.results)
        if (slot >= 0)
          observer(*step.op, *plan.slots[slot].value, frame.tensors[slot]);
    for (int slot : frame.arranged->release[s])
      giveUp(frame.heap[slot]);
  }
  liveBytes = liveOutside;
  return llvm::Error::success();
}

void Execution::countMade(const Frame &frame, const Step &step, std::vector<uint64_t> &held) {
  if (fast && !fast->alone && step.folded)
    return; // nobody makes its result
  for (int slot : step.results) {
    if (slot < 0 || frame.plan.ownerOf(slot) != slot || frame.plan.slots[slot].kind != Slot::Kind::Computed)
      continue;
    llvm::ArrayRef<uint8_t> bytes = frame.tensors[slot].storage;
    bool isOperand = llvm::any_of(step.operands, [&](int operand) {
      return operand >= 0 && frame.tensors[operand].storage.data() == bytes.data();
    });
    if (!isOperand)
      liveBytes += held[slot] = bytes.size();
  }
}

void Execution::tellTime(const Plan &plan, const Step &step, TimePoint begin, TimePoint end) {
  bool folds = fast && !fast->alone;
  if (folds && step.folded)
    return; // the step that does its work tells
  llvm::SmallVector<const Step *, 4> steps = {&step};
  while (folds && steps.back()->ahead >= 0)
    steps.push_back(&plan.steps[steps.back()->ahead]);
  for (const Step *each : llvm::reverse(steps)) {
    if (folds && each->pad >= 0)
      timer({*plan.steps[each->pad].op, begin, begin, false, liveBytes});
    timer({*each->op, begin, end, step.kernel && onAllThreads, liveBytes});
    begin = end;
  }
}

llvm::Error Execution::takeGiven(Frame &frame, const Step &step) {
  for (unsigned i = 0; i < step.results.size(); ++i) {
    int slot = step.results[i];
    if (slot < 0 || !part->given.contains(frame.plan.slots[slot].value))
      continue;
    Tensor &tensor = frame.tensors[slot];
    tensor.shape = *frame.plan.slots[slot].shape;
    auto bytes = payloadBytes(tensor.type, static_cast<uint64_t>(tensor.count()));
    auto memory = room(frame, step, i, bytes.value_or(0));
    if (!memory)
      return memory.takeError();
    tensor.storage = *memory;
    observer(*step.op, *tensor.value, tensor);
  }
  for (int slot : frame.arranged->release[&step - frame.plan.steps.data()])
    giveUp(frame.heap[slot]);
  return llvm::Error::success();
}

llvm::Error Execution::runKernel(Frame &frame, const Step &step, bool asIs) {
  StepContext &context = *frame.contexts[&step - frame.plan.steps.data()];
  context.execution = this;
  context.resources = &state.resources;
  uint64_t used = state.usedBytes + state.resources.used;
  state.resources.room = used < memoryLimit ? memoryLimit - used : 0;
  context.setDeadline(deadline);
  if (llvm::Error error = context.shapeResults())
    return error;
  // Reference kernels tell of each step in a sequence.
  bool watched = within && (step.op->effects() & uint8_t(Effect::WritesState));
  if (watched)
    state.resources.within = [&](const Value &value, llvm::ArrayRef<float> numbers) {
      within(*step.op, value, numbers);
    };
  else
    state.resources.within = nullptr;
  onAllThreads = false;
  FastKernels::Entry *entry = fast && !watched && step.fast >= 0 ? &fast->entries[step.fast] : nullptr;
  if (entry && !entry->kernel && (entry->taken = !mayWrite)) { // else other operators that read the operand see it, too
    context.output().storage = context.input(0).storage;
    return llvm::Error::success();
  }
  bool folds = fast && !fast->alone && !asIs;
  if (folds && step.folded)
    return llvm::Error::success();
  if (step.kernel->shapes == ShapesFrom::Rule)
    if (llvm::Error error = context.makeRoom())
      return error;
  folds &= !step.fastOperands.empty();
  // What goes element by element may have broadcast after all.
  bool fits = true;
  for (int ahead = folds ? step.ahead : -1; ahead >= 0; ahead = frame.plan.steps[ahead].ahead)
    fits &= frame.tensors[frame.plan.steps[ahead].results[0]].shape == context.output().shape;
  if (entry && entry->kernel &&
      (entry->taken =
           fits && runFast(frame, step, folds ? Operands(context.fastInputs) : Operands(context.inputs), *entry)))
    return llvm::Error::success();
  if (folds || asIs)
    for (int before : {step.pad, step.ahead})
      if (before >= 0)
        if (llvm::Error error = runKernel(frame, frame.plan.steps[before], true))
          return error;
  if (llvm::Error error = step.kernel->compute(context))
    return error;
  return context.checkTime();
}

bool Execution::runFast(Frame &frame, const Step &step, Operands inputs, FastKernels::Entry &entry) {
  StepContext &context = *frame.contexts[&step - frame.plan.steps.data()];
  Operands outputs = context.outputs;
  // Of tensors without elements, XNNPACK checks some with assertions only.
  size_t most = 0;
  for (Operands list : {inputs, outputs})
    for (const Tensor *tensor : list)
      if (tensor) {
        if (tensor->storage.empty())
          return false;
        most = std::max(most, tensor->storage.size());
      }
  // Handing work out takes about a microsecond, in which a processor goes through some ten thousand bytes, or four
  // times as many products.
  constexpr uint64_t worthThreads = 1 << 15;
  bool worth = most >= worthThreads;
  if (threads && !worth) {
    uint64_t products = context.products();
    for (int ahead = step.ahead; ahead >= 0; ahead = frame.plan.steps[ahead].ahead)
      products += frame.contexts[ahead]->products();
    worth = products / 4 >= worthThreads - most;
  }
  onAllThreads = threads && worth;
  return entry.kernel->run(inputs, outputs, worth ? threads : nullptr);
}

llvm::Error Execution::setResult(Frame &frame, const Step &step, unsigned i, const Tensor &from) {
  int slot = step.results[i];
  if (slot < 0)
    return llvm::Error::success();
  Tensor &to = frame.tensors[slot];
  if (to.type != from.type)
    return evalError(ErrorCode::BadGraph, EvalPhase::Run, *step.op, -1, "what it calls gives another type",
                     tensorTypeName(to.type).str(), tensorTypeName(from.type).str());
  auto memory = room(frame, step, i, from.storage.size());
  if (!memory)
    return memory.takeError();
  if (!memory->empty())
    std::memcpy(memory->data(), from.storage.data(), memory->size());
  to.shape = from.shape;
  to.storage = *memory;
  return llvm::Error::success();
}

llvm::Expected<std::vector<Tensor>> Execution::call(const Step &step, unsigned which, llvm::ArrayRef<Tensor> inputs) {
  const Plan &plan = *step.callees[which];
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (plan.slots[plan.inputs[i]].value->type != inputs[i].type)
      return evalError(ErrorCode::BadGraph, EvalPhase::Run, *step.op, -1,
                       "subgraph " + llvm::Twine(plan.graph->index) + " takes another type as input " + llvm::Twine(i),
                       tensorTypeName(plan.slots[plan.inputs[i]].value->type).str(),
                       tensorTypeName(inputs[i].type).str());
  // One for all calls: none of them is in another, for a subgraph does not lead to itself.
  std::unique_ptr<Frame> &child = state.called[&plan];
  if (!child)
    child = std::make_unique<Frame>(plan);
  if (llvm::Error error = run(*child, inputs))
    return error;
  std::vector<Tensor> outputs;
  for (int slot : plan.outputs)
    outputs.push_back(child->tensors[slot]);
  return outputs;
}

llvm::Error Execution::runControlFlow(Frame &frame, const Step &step) {
  std::vector<Tensor> operands;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    if (step.operands[i] < 0)
      return evalError(ErrorCode::BadGraph, EvalPhase::Run, *step.op, static_cast<int>(i), "is missing");
    operands.push_back(frame.tensors[step.operands[i]]);
  }
  unsigned which = 0;
  llvm::ArrayRef<Tensor> arguments = operands;
  switch (step.op->code) {
  case BuiltinOperator::WHILE:
    return runWhile(frame, step);
  case BuiltinOperator::IF:
    if (operands[0].type != TensorType::BOOL || operands[0].count() != 1)
      return evalError(ErrorCode::BadOperand, EvalPhase::Run, *step.op, 0, "is not a single truth value");
    which = operands[0].as<uint8_t>()[0] ? 0 : 1;
    arguments = arguments.drop_front();
    break;
  case BuiltinOperator::CALL_ONCE:
    if (state.calledOnce.contains(step.callees[0]->graph))
      return llvm::Error::success();
    break;
  default:
    break;
  }
  auto results = call(step, which, arguments);
  if (!results)
    return results.takeError();
  if (step.op->code == BuiltinOperator::CALL_ONCE)
    state.calledOnce.insert(step.callees[0]->graph); // what failed is tried again in the next run
  for (size_t i = 0; i < step.results.size(); ++i)
    if (llvm::Error error = setResult(frame, step, i, (*results)[i]))
      return error;
  return llvm::Error::success();
}

llvm::Error Execution::runWhile(Frame &frame, const Step &step) {
  std::vector<Tensor> values;
  std::vector<std::vector<uint8_t>> bytes(step.operands.size());
  uint64_t held = 0; // by `bytes`
  auto letGo = llvm::make_scope_exit([&] { release(held); });
  for (int slot : step.operands)
    values.push_back(frame.tensors[slot]);
  for (;;) {
    auto condition = call(step, 0, values);
    if (!condition)
      return condition.takeError();
    const Tensor &flag = condition->front();
    if (flag.type != TensorType::BOOL || flag.count() != 1)
      return evalError(ErrorCode::BadOperand, EvalPhase::Run, *step.op, -1,
                       "the condition is not a single truth value");
    if (!flag.as<uint8_t>()[0])
      break;
    if (++iterations > options.iterationLimit)
      return evalError(ErrorCode::IterationLimit, EvalPhase::Run, *step.op, -1,
                       "more than the " + llvm::Twine(options.iterationLimit) + " rounds that are allowed");
    if (llvm::Error error = checkTime(*step.op))
      return error;
    auto next = call(step, 1, values);
    if (!next)
      return next.takeError();
    // All of them before any is overwritten: a body may hand through its inputs in another order.
    uint64_t size = 0;
    for (const Tensor &tensor : *next)
      size += tensor.storage.size();
    if (llvm::Error error = reserve(size, step.op))
      return error;
    std::vector<std::vector<uint8_t>> copies;
    for (const Tensor &tensor : *next) {
      copies.emplace_back().reserve(tensor.storage.size() + readAhead);
      copies.back().assign(tensor.storage.begin(), tensor.storage.end());
    }
    bytes = std::move(copies);
    release(std::exchange(held, size));
    for (size_t i = 0; i < values.size(); ++i) {
      if ((*next)[i].type != values[i].type)
        return evalError(ErrorCode::BadGraph, EvalPhase::Run, *step.op, static_cast<int>(i),
                         "changes its type in a round");
      values[i].shape = (*next)[i].shape;
      values[i].storage = bytes[i];
    }
  }
  for (size_t i = 0; i < step.results.size(); ++i)
    if (llvm::Error error = setResult(frame, step, i, values[i]))
      return error;
  return llvm::Error::success();
}

} // namespace origo::eval
