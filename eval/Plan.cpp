#include "eval/Plan.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace origo::eval {

namespace {

/// Operators that the outputs need, in order; what changes state is needed always.
std::vector<const Operator *> needed(const Subgraph &graph, llvm::ArrayRef<Value *> outputs) {
  llvm::DenseSet<const Value *> wanted(outputs.begin(), outputs.end());
  std::vector<const Operator *> order;
  for (const Operator &op : llvm::reverse(graph.operators)) {
    bool writes = op.effects() & (uint8_t(Effect::WritesState) | uint8_t(Effect::Unknown));
    if (!writes && llvm::none_of(op.results(), [&](const Value *v) { return v && wanted.contains(v); }))
      continue;
    order.push_back(&op);
    for (unsigned i = 0; i < op.numOperands(); ++i)
      wanted.insert(op.operand(i));
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// Numbers of arguments and results of what an operator calls.
llvm::Error checkCall(const Operator &op, llvm::ArrayRef<Subgraph *> callees) {
  size_t operands = op.numOperands(), results = op.results().size();
  auto check = [&](const Subgraph &graph, size_t in, size_t out) -> llvm::Error {
    if (graph.inputs.size() == in && graph.outputs.size() == out)
      return llvm::Error::success();
    return evalError(ErrorCode::BadGraph, EvalPhase::Compile, op, -1,
                     "subgraph " + llvm::Twine(graph.index) + " has another number of inputs or outputs",
                     llvm::Twine(in).concat(" and ").concat(llvm::Twine(out)).str(),
                     llvm::Twine(graph.inputs.size()).concat(" and ").concat(llvm::Twine(graph.outputs.size())).str());
  };
  size_t wanted = op.code == BuiltinOperator::IF || op.code == BuiltinOperator::WHILE ? 2 : 1;
  if (callees.size() != wanted || llvm::is_contained(callees, nullptr))
    return evalError(ErrorCode::BadGraph, EvalPhase::Compile, op, -1, "calls a subgraph that does not exist");
  switch (op.code) {
  case BuiltinOperator::IF:
    if (operands == 0)
      return evalError(ErrorCode::BadGraph, EvalPhase::Compile, op, -1, "has no condition");
    return llvm::joinErrors(check(*callees[0], operands - 1, results), check(*callees[1], operands - 1, results));
  case BuiltinOperator::WHILE:
    if (operands != results)
      return evalError(ErrorCode::BadGraph, EvalPhase::Compile, op, -1,
                       "has another number of results than of operands");
    return llvm::joinErrors(check(*callees[0], operands, 1), check(*callees[1], operands, operands));
  default:
    return check(*callees[0], operands, results);
  }
}

} // namespace

llvm::Error Planner::takeErrors() {
  llvm::Error all = llvm::Error::success();
  for (llvm::Error &error : errors)
    all = llvm::joinErrors(std::move(all), std::move(error));
  errors.clear();
  return all;
}

const Plan *Planner::plan(const Subgraph &graph) {
  auto found = called.find(&graph);
  if (found != called.end())
    return found->second;
  llvm::SmallVector<Value *> outputs(graph.outputs.begin(), graph.outputs.end());
  const Plan *made = plan(graph, outputs);
  called[&graph] = made;
  return made;
}

/// Weights that are stored in fewer bits: kernels want to see them as constants. Only where their shape is stated.
bool Planner::unpacksConstant(const Operator &op) const {
  return options.engine == Engine::Fast &&
         (op.code == BuiltinOperator::DEQUANTIZE || op.code == BuiltinOperator::DENSIFY) && op.numOperands() == 1 &&
         op.operand(0) && op.results().size() == 1 && op.result(0) && op.result(0)->isStatic() &&
         op.result(0)->shape == op.operand(0)->shape;
}

/// Then nothing else is looked at, so that the error stands alone.
bool Planner::outOfTime(const Operator &op) {
  if (!deadline || std::chrono::steady_clock::now() <= *deadline)
    return false;
  if (!late)
    add(evalError(ErrorCode::Timeout, EvalPhase::Compile, op, -1, "to plan the run takes longer than allowed"));
  return late = true;
}

const Plan *Planner::plan(const Subgraph &graph, llvm::ArrayRef<Value *> outputs) {
  if (llvm::is_contained(inProgress, &graph)) {
    add(evalError(ErrorCode::BadGraph, EvalPhase::Compile, "subgraph " + llvm::Twine(graph.index) + " calls itself"));
    return nullptr;
  }
  inProgress.push_back(&graph);
  Plan made;
  made.graph = &graph;
  llvm::DenseMap<const Value *, int> slots;
  auto slotOf = [&](const Value *value) -> int {
    if (!value)
      return -1;
    auto [found, isNew] = slots.try_emplace(value, static_cast<int>(made.slots.size()));
    if (!isNew)
      return found->second;
    Slot slot{value};
    add(checkQuantization(*value));
    if (value->isVariable) {
      slot.kind = Slot::Kind::Variable;
    } else if (value->isGraphInput) {
      slot.kind = Slot::Kind::Input;
    } else if (value->isConstant()) {
      slot.kind = Slot::Kind::Constant;
      if (auto bytes = ConstantBytes::of(*value, sparseBytesLeft)) {
        slot.constant = std::move(*bytes);
        if (options.engine == Engine::Fast)
          slot.constant->makeReadAhead(value->payload());
        if (value->sparsity())
          sparseBytesLeft -= slot.constant->bytes.size();
      } else {
        add(bytes.takeError());
      }
    }
    made.slots.push_back(std::move(slot));
    return found->second;
  };
  for (const Value *input : graph.inputs)
    made.inputs.push_back(slotOf(input));
  for (const Operator *op : needed(graph, outputs)) {
    if (outOfTime(*op))
      break;
    if (unpacksConstant(*op) && made.slots[slotOf(op->operand(0))].kind == Slot::Kind::Constant &&
        made.slots[slotOf(op->operand(0))].constant) {
      const Value &packed = *op->operand(0);
      Shape shape(packed.shape.begin(), packed.shape.end());
      TensorRef bytes(packed.type, shape, made.slots[slotOf(&packed)].constant->bytes);
      auto unpacked = runOperator(*op, {packed.isConstant() ? nullptr : &bytes}, sparseBytesLeft);
      if (unpacked) {
        Slot &slot = made.slots[slotOf(op->result(0))];
        slot.kind = Slot::Kind::Constant;
        slot.constant = ConstantBytes::copyOf(unpacked->front().bytes);
        sparseBytesLeft -= slot.constant->bytes.size();
        continue;
      }
      llvm::consumeError(unpacked.takeError()); // it says so when it runs
    }
    Step step{op, nullptr, -1, {}, {}, {}, false};
    for (unsigned i = 0; i < op->numOperands(); ++i)
      step.operands.push_back(slotOf(op->operand(i)));
    for (const Value *result : op->results())
      step.results.push_back(slotOf(result));
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (step.operands[i] < 0)
        continue;
      const Value &value = *made.slots[step.operands[i]].value;
      if (made.slots[step.operands[i]].kind == Slot::Kind::Computed && !value.producer())
        add(evalError(ErrorCode::BadGraph, EvalPhase::Compile, *op, static_cast<int>(i), "is computed by nothing"));
    }
    if (isControlFlow(op->code)) {
      auto callees = op->callees();
      if (llvm::Error error = checkCall(*op, callees)) {
        add(std::move(error));
        continue;
      }
      for (const Subgraph *callee : callees)
        step.callees.push_back(plan(*callee));
    } else if (auto kernel = kernelFor(*op)) {
      step.kernel = *kernel;
    } else {
      add(kernel.takeError());
    }
    made.steps.push_back(std::move(step));
  }
  for (const Value *output : late ? llvm::ArrayRef<Value *>() : outputs) {
    int slot = slotOf(output);
    if (slot < 0 || (made.slots[slot].kind == Slot::Kind::Computed && !output->producer()))
      add(evalError(ErrorCode::BadGraph, EvalPhase::Compile,
                    "an output of subgraph " + llvm::Twine(graph.index) + " is computed by nothing"));
    else
      made.outputs.push_back(slot);
  }
  inProgress.pop_back();
  // The rest is for plans in which nothing is missing.
  if (errors.empty()) {
    for (const Step &step : made.steps)
      shareMemory(made, step);
    inferShapes(made);
  }
  plans.push_back(std::move(made));
  return &plans.back();
}

/// Floats of which none is below zero: a RELU changes nothing.
static bool isRectified(const Value *value) {
  using Function = circle::ActivationFunctionType;
  auto rectifies = [](const auto *options) {
    return options && llvm::is_contained({Function::RELU, Function::RELU6}, options->fused_activation_function());
  };
  const Operator *op = value ? value->producer() : nullptr;
  if (!op || value->type != TensorType::FLOAT32)
    return false;
  switch (op->code) {
  case BuiltinOperator::RELU:
  case BuiltinOperator::RELU6:
    return true;
  case BuiltinOperator::ADD:
    return rectifies(op->options.as<circle::AddOptions>());
  case BuiltinOperator::CONV_2D:
    return rectifies(op->options.as<circle::Conv2DOptions>());
  case BuiltinOperator::DEPTHWISE_CONV_2D:
    return rectifies(op->options.as<circle::DepthwiseConv2DOptions>());
  default:
    return false;
  }
}

void Planner::shareMemory(Plan &plan, const Step &step) const {
  using Op = BuiltinOperator;
  bool same = llvm::is_contained({Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS}, step.op->code) ||
              (step.op->code == Op::RELU && isRectified(step.op->operand(0)));
  if (options.engine != Engine::Fast || !same)
    return;
  int from = step.operands[0], to = step.results[0];
  // A variable may change while its old value is still read.
  if (to >= 0 && plan.slots[to].kind == Slot::Kind::Computed && plan.slots[from].kind != Slot::Kind::Variable)
    plan.slots[to].sharedWith = plan.ownerOf(from);
}

void Planner::inferShapes(Plan &plan) {
  std::vector<Tensor> inputs;
  for (const Value *value : plan.graph->inputs)
    inputs.push_back(ShapeRun::stated(*value));
  plan.shapesKnown = llvm::all_of(inputs, [](const Tensor &input) { return input.rankKnown; });
  std::vector<bool> settled;
  std::vector<Tensor> tensors = shapes.run(plan, inputs, &settled);
  for (size_t i = 0; i < settled.size(); ++i)
    plan.steps[i].settled = settled[i];
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].rankKnown)
      plan.slots[i].shape = tensors[i].shape;
  for (const Step &step : plan.steps)
    for (int slot : step.results)
      if (slot >= 0 && plan.slots[slot].value->isStatic() && tensors[slot].rankKnown &&
          llvm::ArrayRef<int32_t>(plan.slots[slot].value->shape) != llvm::ArrayRef<int32_t>(tensors[slot].shape))
        add(evalError(ErrorCode::BadGraph, EvalPhase::Compile, *step.op, -1,
                      "the model states another shape of its result", shapeText(plan.slots[slot].value->shape),
                      shapeText(tensors[slot].shape)));
  plan.arrangeFiled(options.memoryLimit);
}

void Plan::findOnlyGivenOut() {
  std::vector<int> uses(slots.size());
  for (int slot : outputs)
    if (slot >= 0)
      ++uses[slot];
  auto isRead = [&](int slot) {
    if (slot >= 0)
      uses[slot] = 2;
  };
  for (const Step &step : steps)
    for (int slot : step.operands)
      isRead(slot);
  for (const Slot &slot : slots)
    isRead(slot.sharedWith);
  for (size_t i = 0; i < slots.size(); ++i)
    slots[i].onlyGivenOut = uses[i] == 1 && slots[i].kind == Slot::Kind::Computed && slots[i].sharedWith < 0;
}

Plan::Uses Plan::uses() const {
  Uses made{std::vector<int>(slots.size(), -1), std::vector<int>(slots.size(), 0)};
  for (size_t s = 0; s < steps.size(); ++s) {
    for (int slot : steps[s].results)
      if (slot >= 0)
        made.producers[slot] = static_cast<int>(s);
    for (int slot : steps[s].operands)
      if (slot >= 0)
        ++made.readers[slot];
  }
  for (int slot : outputs)
    if (slot >= 0)
      ++made.readers[slot];
  return made;
}

/// Of the shapes that are known before a run.
std::vector<Tensor> Plan::knownTensors() const {
  std::vector<Tensor> tensors;
  tensors.reserve(slots.size());
  for (const Slot &slot : slots) {
    Tensor &tensor = tensors.emplace_back(ShapeRun::stated(*slot.value));
    tensor.rankKnown = slot.shape.has_value();
    if (slot.shape)
      tensor.shape = *slot.shape;
  }
  return tensors;
}

void Plan::arrangeFiled(uint64_t limit) {
  findOnlyGivenOut();
  std::vector<int> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  filed = arrangement(knownTensors(), limit, std::move(order));
}

void Plan::arrangePacked(uint64_t limit) {
  // Where a tensor has no place, nobody knows what an order takes.
  bool known = shapesKnown && steps.size() <= Ordering::mostSteps;
  size_t operands = 0;
  for (const Step &step : steps)
    operands += step.operands.size();
  known &= operands <= Ordering::mostOperands;
  for (const Step &step : steps)
    for (int slot : step.results)
      known &= step.folded || slot < 0 || slots[slot].kind != Slot::Kind::Computed || slots[slot].sharedWith >= 0 ||
               filed.arena.places[slot].offset >= 0;
  if (!known)
    return;
  Ordering::Found found = ordering(filed.arena.places).search();
  if (found.order == filed.order)
    return;
  Arrangement other = arrangement(knownTensors(), limit, std::move(found.order));
  if (other.arena.bytes < filed.arena.bytes)
    packed = std::move(other);
}

Arrangement Plan::arrangement(llvm::ArrayRef<Tensor> tensors, uint64_t limit, std::vector<int> order) const {
  Arrangement made{std::move(order), {}, {}};
  std::vector<int> last = lastUses(made.order);
  made.release.resize(steps.size());
  for (const Step &step : steps)
    for (int slot : step.results)
      if (slot >= 0 && ownerOf(slot) == slot && slots[slot].kind == Slot::Kind::Computed &&
          last[slot] < static_cast<int>(steps.size()))
        made.release[made.order[last[slot]]].push_back(slot);
  made.arena = arrange(tensors, limit, made.order);
  return made;
}

Ordering Plan::ordering(llvm::ArrayRef<Arena::Place> places) const {
  Ordering made;
  made.steps.resize(steps.size());
  made.bytes.resize(slots.size());
  made.kept.resize(slots.size());
  for (size_t slot = 0; slot < slots.size(); ++slot)
    made.bytes[slot] = places[slot].offset >= 0 ? places[slot].bytes : 0;
  for (int slot : outputs)
    made.kept[ownerOf(slot)] = true;
  std::vector<int> producers(slots.size(), -1);
  int lastEffect = -1;
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
    const Step &step = steps[s];
    Ordering::Step &to = made.steps[s];
    auto needs = [&](int producer) {
      if (producer >= 0 && !llvm::is_contained(to.after, producer))
        to.after.push_back(producer);
    };
    auto reads = [&](int slot) {
      if (slot >= 0 && !llvm::is_contained(to.reads, ownerOf(slot)))
        to.reads.push_back(ownerOf(slot));
    };
    for (int slot : step.operands)
      if (slot >= 0)
        needs(producers[slot]);
    if (step.op->effects() != 0) {
      needs(lastEffect);
      lastEffect = s;
    }
    for (int slot : step.results)
      if (slot >= 0)
        producers[slot] = s;
    if (step.folded)
      continue;
    for (int slot : step.reads())
      if (slot >= 0) {
        reads(slot);
        needs(producers[slot]);
      }
    for (int slot : step.results)
      if (slot >= 0 && slots[slot].kind == Slot::Kind::Computed && slots[slot].sharedWith < 0)
        to.makes.push_back(slot);
  }
  return made;
}

std::vector<int> Plan::lastUses(llvm::ArrayRef<int> order) const {
  std::vector<int> last(slots.size(), -1);
  int end = static_cast<int>(order.size());
  for (int at = 0; at < end; ++at) {
    const Step &step = steps[order[at]];
    for (llvm::ArrayRef<int> used :
         {llvm::ArrayRef<int>(step.operands), llvm::ArrayRef<int>(step.results), step.reads()})
      for (int slot : used)
        if (slot >= 0)
          last[ownerOf(slot)] = at;
  }
  for (int slot : outputs)
    last[ownerOf(slot)] = end;
  return last;
}

Arena Plan::arrange(llvm::ArrayRef<Tensor> tensors, uint64_t limit, llvm::ArrayRef<int> order) const {
  struct Life {
    int slot, first, last;
    uint64_t bytes;
  };
  std::vector<int> last = lastUses(order);
  std::vector<Life> lives;
  for (int at = 0; at < static_cast<int>(order.size()); ++at)
    for (const Step &step = steps[order[at]]; int slot : step.results) {
      if (step.folded || slot < 0 || slots[slot].kind != Slot::Kind::Computed || slots[slot].sharedWith >= 0)
        continue;
      auto bytes = payloadBytes(tensors[slot].type, static_cast<uint64_t>(tensors[slot].count()));
      if (tensors[slot].rankKnown && bytes && *bytes <= limit)
        lives.push_back({slot, at, last[slot], (*bytes + 63) / 64 * 64});
    }
  Arena arena;
  arena.places.resize(slots.size());
  // The largest first, each at the lowest place that is free during its life.
  llvm::stable_sort(lives, [](const Life &a, const Life &b) { return a.bytes > b.bytes; });
  auto offsetOf = [&](const Life &life) { return static_cast<uint64_t>(arena.places[life.slot].offset); };
  std::vector<Life> placed; // by offset
  for (const Life &life : lives) {
    uint64_t offset = 0;
    for (const Life &other : placed) {
      if (other.first > life.last || other.last < life.first)
        continue;
      if (offsetOf(other) >= offset + life.bytes)
        break;
      offset = std::max(offset, offsetOf(other) + other.bytes);
    }
    arena.places[life.slot] = {static_cast<int64_t>(offset), life.bytes};
    arena.bytes = std::max(arena.bytes, offset + life.bytes);
    placed.insert(llvm::upper_bound(placed, offset, [&](uint64_t at, const Life &l) { return at < offsetOf(l); }),
                  life);
  }
  return arena;
}

} // namespace origo::eval
