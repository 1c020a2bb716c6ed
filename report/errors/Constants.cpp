#include "report/errors/Constants.h"

#include "eval/Parts.h"
#include "eval/RealNumbers.h"
#include "report/errors/Live.h"

namespace origo::report {

using namespace eval;

/// The elements of a constant, and of what is computed from constants alone; none: it is neither.
static std::optional<OwnedTensor> constantOf(const Value &value, unsigned depth = 0) {
  if (value.isConstant()) {
    auto bytes = ConstantBytes::of(value, CompileOptions().memoryLimit);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return std::nullopt;
    }
    return OwnedTensor{
        value.type, Shape(value.shape.begin(), value.shape.end()), {bytes->bytes.begin(), bytes->bytes.end()}};
  }
  const Operator *op = value.producer();
  if (!op || op->numOperands() == 0 || depth == 4 || op->results().size() != 1)
    return std::nullopt;
  std::vector<OwnedTensor> operands(op->numOperands());
  std::vector<TensorRef> refs(op->numOperands());
  std::vector<const TensorRef *> given(op->numOperands(), nullptr);
  for (unsigned i = 0; i < op->numOperands(); ++i) {
    if (!op->operand(i) || op->operand(i)->isConstant())
      continue;
    auto made = constantOf(*op->operand(i), depth + 1);
    if (!made)
      return std::nullopt;
    operands[i] = std::move(*made);
    refs[i] = operands[i];
    given[i] = &refs[i];
  }
  auto made = runOperator(*op, given);
  if (!made) {
    llvm::consumeError(made.takeError());
    return std::nullopt;
  }
  return std::move(made->front());
}

void compareConstants(ErrorRow &row, llvm::ArrayRef<Counterpart> counterparts) {
  auto want = constantOf(*row.value);
  auto numbers = want ? realNumbers(viewOf(*row.value, *want)) : std::nullopt;
  if (!numbers)
    return;
  Tensor source = viewOf(*row.value, *want);
  Numbers have = *numbers;
  std::vector<bool> known(have.size(), true);
  bool any = false;
  for (const Counterpart &counterpart : counterparts)
    if (auto constant = constantOf(*counterpart.value)) {
      Tensor tensor = viewOf(*counterpart.value, *constant);
      any |= numbersOfSource(source, counterpart, tensor, have, known);
    }
  if ((!any && !counterparts.empty()) || have.size() != numbers->size()) {
    row.unmeasured = any ? "has another shape in the result" : "is a constant, and in the result it is none";
    return;
  }
  RecordSums sums, none;
  sums.add(*numbers, have);
  none.add(*numbers, *numbers);
  row.total.add(sums);
  row.inherited.add(none);
  if (!row.recovered)
    row.own.add(sums);
}

} // namespace origo::report
