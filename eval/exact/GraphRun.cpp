#include "eval/exact/GraphRun.h"

#include "eval/exact/Choices.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval::exact {

GraphRun::GraphRun(const Machine &machine, Variables &state, const Subgraph &graph, llvm::ArrayRef<Held> inputs,
                   bool leads)
    : graph(graph), machine(machine), state(state), leads(leads) {
  if (machine.choices)
    machine.choices->ran.insert(&graph);
  for (const Operator &op : graph.operators) {
    order.push_back(&op);
    for (const Use &use : op.operands())
      if (use.get())
        ++uses[use.get()];
  }
  for (const Value *output : graph.outputs)
    ++uses[output];
  for (auto [input, held] : llvm::zip(graph.inputs, inputs))
    if (input) {
      tensors[input] = held;
      tensors[input].tensor.value = input;
      ++uses[input];
    }
}

void GraphRun::release(const Value &value) {
  auto left = uses.find(&value);
  if (left != uses.end() && --left->second == 0)
    tensors.erase(&value);
}

llvm::Expected<Held> GraphRun::find(const Value &value) const {
  if (auto known = tensors.find(&value); known != tensors.end())
    return known->second;
  if (value.isConstant())
    return machine.constant(value);
  if (value.isVariable)
    return state.variable(value);
  return Held();
}

llvm::Expected<Held> GraphRun::until(const Value &value) {
  while (value.producer() && value.subgraph() == &graph && !tensors.count(&value) && next < order.size())
    if (auto stepped = step(); !stepped)
      return stepped.takeError();
  return find(value);
}

llvm::Expected<const Operator *> GraphRun::step() {
  if (next == order.size())
    return nullptr;
  const Operator &op = *order[next++];
  llvm::SmallVector<Held> operands;
  for (const Use &use : op.operands()) {
    operands.emplace_back();
    if (!use.get())
      continue;
    auto held = find(*use.get());
    if (!held)
      return held.takeError();
    operands.back() = std::move(*held);
    if (leads)
      if (llvm::Error error = machine.settle(operands.back()))
        return error;
  }
  machine.math.choices = 0;
  auto results = compute(op, operands);
  if (!results)
    return results.takeError();
  if (machine.choices)
    machine.choices->add(machine.math, op, operands, *results);
  for (unsigned i = 0; i < results->size(); ++i)
    if (const Value *value = op.result(i)) {
      (*results)[i].tensor.value = value;
      if (uses.count(value)) // else nobody wants it, but for who asks right now
        tensors[value] = std::move((*results)[i]);
    }
  for (const Use &use : op.operands())
    if (use.get())
      release(*use.get());
  return &op;
}

llvm::Expected<llvm::SmallVector<Held>> GraphRun::outputs() {
  for (;;) {
    auto stepped = step();
    if (!stepped)
      return stepped.takeError();
    if (!*stepped)
      break;
  }
  llvm::SmallVector<Held> all;
  for (const Value *output : graph.outputs) {
    auto held = find(*output);
    if (!held)
      return held.takeError();
    all.push_back(std::move(*held));
  }
  return all;
}

/// An operator on variable tensors leaves others in them. Where it is not computed, of these is known what they follow
/// from.
GraphRun::Results GraphRun::compute(const Operator &op, llvm::ArrayRef<Held> operands) const {
  if (isControlFlow(op.code))
    return call(op, operands);
  if (Variables::isAccess(op))
    return state.access(op, operands);
  constexpr auto writes = static_cast<uint8_t>(Effect::WritesState);
  llvm::SmallVector<unsigned> written;
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *value = op.operand(i); value && value->isVariable && (op.effects() & writes))
      written.push_back(i);
  if (written.empty())
    return machine.compute(op, operands);
  const bool isComputed = !machine.withoutKernel(op, operands);
  const uint64_t symbol = isComputed ? 0 : machine.symbolOf(op, operands);
  llvm::SmallVector<Held> own(operands.begin(), operands.end());
  for (unsigned i : written) {
    auto left = isComputed ? machine.copyOf(operands[i]) : machine.arbitrary(*op.operand(i), symbol + i);
    if (!left)
      return left.takeError();
    own[i] = std::move(*left);
  }
  auto results = machine.compute(op, isComputed ? llvm::ArrayRef<Held>(own) : operands);
  if (!results)
    return results;
  for (unsigned i : written) {
    if (const auto *result = llvm::find_if(*results, [](const Held &held) { return bool(held); });
        isComputed && result != results->end()) {
      own[i].doubtful = result->doubtful;
      own[i].usesFunctions = result->usesFunctions;
      own[i].opaque = result->opaque;
      own[i].isSymbolic = result->isSymbolic;
      own[i].symbol = result->symbol;
    } else {
      own[i].opaque = op.opName();
    }
    state.set(*op.operand(i), std::move(own[i]));
  }
  return results;
}

GraphRun::Results GraphRun::callOne(const Subgraph &callee, llvm::ArrayRef<Held> operands) const {
  if (callee.inputs.size() != operands.size())
    return makeError("a subgraph is called with another number of operands than it has inputs");
  auto all = GraphRun(machine, state, callee, operands, leads).outputs();
  if (!all)
    return all.takeError();
  llvm::SmallVector<Held, 2> results(all->begin(), all->end());
  for (const Held &held : results)
    if (!held)
      return makeError("an output of a subgraph is not computed");
  return results;
}

GraphRun::Results GraphRun::call(const Operator &op, llvm::ArrayRef<Held> operands) const {
  auto callees = op.callees();
  auto holds = [](const Held &condition) {
    return condition && condition.block->bytes.size() == 1 && condition.block->bytes.front() != 0;
  };
  auto inherits = [](Results results, const Held &condition) {
    if (results)
      for (Held &held : *results)
        if (condition.doubtful && held.opaque.empty())
          held.opaque = "a condition that the doubles do not decide", held.isSymbolic = false;
    return results;
  };
  bool callsOne = op.code == BuiltinOperator::CALL || op.code == BuiltinOperator::CALL_ONCE ||
                  op.code == BuiltinOperator::STABLEHLO_COMPOSITE;
  if (callsOne && callees.size() == 1)
    return callOne(*callees.front(), operands);
  if (op.code == BuiltinOperator::IF && callees.size() == 2 && !operands.empty())
    return inherits(callOne(*callees[holds(operands[0]) ? 0 : 1], operands.drop_front()), operands[0]);
  if (op.code == BuiltinOperator::WHILE && callees.size() == 2) {
    constexpr unsigned most = 1 << 16;
    llvm::SmallVector<Held, 2> state(operands.begin(), operands.end());
    for (unsigned round = 0; round < most; ++round) {
      if (llvm::Error error = machine.checkTime(op))
        return error;
      auto condition = callOne(*callees[0], state);
      if (!condition)
        return condition.takeError();
      if (condition->empty())
        return makeError("the condition of a loop has no output");
      if (!holds(condition->front()))
        return inherits(Results(std::move(state)), condition->front());
      auto body = callOne(*callees[1], state);
      if (!body)
        return body.takeError();
      if (body->size() != state.size())
        return makeError("the body of a loop has another number of outputs than inputs");
      state = std::move(*body);
    }
    return makeError("a loop of more than " + llvm::Twine(most) + " rounds");
  }
  return machine.compute(op, operands);
}

} // namespace origo::eval::exact
