#include "eval/exact/Variables.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval::exact {

/// The source variable that it stands for as it is; else one of its own.
static uint64_t keyOf(const Value &variable) {
  for (const Relation &relation : variable.relations)
    if (relation.steps == 0)
      return relation.tensor;
  return reinterpret_cast<uintptr_t>(&variable);
}

llvm::Expected<Held> Variables::variable(const Value &value) {
  auto known = tensors.find(&value);
  if (known != tensors.end())
    return known->second;
  auto held = machine.arbitrary(value, keyOf(value));
  if (held)
    tensors.insert({&value, *held});
  return held;
}

bool Variables::isAccess(const Operator &op) {
  return op.code == BuiltinOperator::VAR_HANDLE || op.code == BuiltinOperator::READ_VARIABLE ||
         op.code == BuiltinOperator::ASSIGN_VARIABLE;
}

llvm::Expected<llvm::SmallVector<Held, 2>> Variables::access(const Operator &op, llvm::ArrayRef<Held> operands) {
  if (op.code == BuiltinOperator::VAR_HANDLE) {
    auto handle = machine.make(*op.result(), op.result()->type, {});
    if (!handle)
      return handle.takeError();
    handle->symbol = machine.symbolOf(op, {});
    return llvm::SmallVector<Held, 2>{std::move(*handle)};
  }
  const Held &handle = operands.front();
  if (!handle || handle.symbol == 0)
    return machine.compute(op, operands);
  auto known = resources.find(handle.symbol);
  if (op.code == BuiltinOperator::ASSIGN_VARIABLE) {
    resources[handle.symbol] = {operands[1], op.operand(0)};
    return llvm::SmallVector<Held, 2>{};
  }
  if (known != resources.end())
    return llvm::SmallVector<Held, 2>{known->second.held};
  auto held = machine.arbitrary(*op.result(), handle.symbol);
  if (!held)
    return held.takeError();
  return llvm::SmallVector<Held, 2>{std::move(*held)};
}

} // namespace origo::eval::exact
