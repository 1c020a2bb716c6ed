#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

/// What a folded constant is to the constants that it is computed from.
namespace origo::rewrite {

static bool isReal(TensorType type) {
  return type == TensorType::FLOAT32 || type == TensorType::FLOAT16 || type == TensorType::FLOAT64 ||
         type == TensorType::BFLOAT16 || type == TensorType::COMPLEX64 || type == TensorType::COMPLEX128;
}

bool computesExactly(const Operator &op) {
  const OperatorInfo *row = op.info();
  if (row->has(Trait::DataMovement) || row->has(Trait::ShapeQuery))
    return true;
  if (op.code == Op::CAST && op.operand(0) && op.operand(0)->type == op.result()->type)
    return true;
  if (op.code == Op::SELECT || op.code == Op::SELECT_V2) // moves elements of one or the other
    return !op.result()->quantization || !op.result()->quantization->quantized();
  if (op.code == Op::DEQUANTIZE && op.operand(0) && op.operand(0)->type == TensorType::FLOAT16)
    return true;
  auto isPlain = [](const Value *v) {
    return !v || (!isReal(v->type) && !(v->quantization && v->quantization->quantized()));
  };
  return llvm::all_of(op.results(), isPlain) &&
         llvm::all_of(op.operands(), [&](const Use &use) { return isPlain(use.get()); });
}

/// What an operand of an elementwise operator is to the other one: a number, or a source constant with a number for
/// each index of one dimension of the result.
std::optional<std::pair<Step::Term, int>> Build::termOf(const Value &operand, const Made &from, const Value &result) {
  if (auto number = readConstant<float>(&operand, 1); number && number->size() == 1)
    return std::pair(Step::Term::of(number->front()), -1);
  int axis = -1;
  for (int i = 0; i < operand.rank(); ++i)
    if (operand.shape[i] != 1) {
      if (axis >= 0)
        return std::nullopt;
      axis = i + result.rank() - operand.rank();
    }
  bool whole = from.base && llvm::all_of(from.steps, [](const Step &step) { return step.kind == Step::Reshape; });
  const Relation *known =
      whole ? llvm::find_if(from.base->relations, [](const Relation &one) { return one.steps == 0; }) : nullptr;
  if (axis < 0 || !known || known == from.base->relations.end() || operand.elementCount() != result.shape[axis])
    return std::nullopt;
  return std::pair(Step::Term::ofSource(known->tensor), axis);
}

/// What a computed constant with a number for each index of one dimension of the result makes of the other operand of a
/// product or quotient.
std::optional<Build::Steps> Build::scaled(const Operator &op, unsigned i) {
  const Value &by = *op.operand(1 - i), &result = *op.result();
  int axis = -1;
  for (int d = 0; d < by.rank(); ++d)
    if (by.shape[d] != 1)
      axis = axis < 0 ? d + result.rank() - by.rank() : result.rank();
  bool divides = op.code == Op::DIV;
  if (axis < 0 || axis >= result.rank() || op.operand(i)->shape != result.shape || (!divides && op.code != Op::MUL) ||
      (divides && i != 0) || by.elementCount() != static_cast<uint64_t>(result.shape[axis]))
    return std::nullopt;
  auto numbers = readConstant<float>(&by, Step::mostFactors);
  Step step{Step::Scaled, axis};
  if (!numbers)
    return std::nullopt;
  for (float number : *numbers) {
    step.factors.push_back(divides ? 1 / number : number);
    if (!std::isfinite(step.factors.back()))
      return std::nullopt;
  }
  return Steps{step};
}

/// One operand is a number, or one for each index of a dimension: the other one, multiplied and shifted.
std::optional<Build::Steps> Build::affine(const Operator &op, unsigned i, const Made &other) {
  const Value *x = op.operand(i);
  auto term = op.operand(1 - i) ? termOf(*op.operand(1 - i), other, *op.result()) : std::nullopt;
  // What is a constant of the source is no list of numbers.
  bool computed = !other.base || other.base->relations.empty() ||
                  llvm::any_of(other.steps, [](const Step &step) { return step.kind != Step::Reshape; });
  if (!term)
    return op.operand(1 - i) && computed ? scaled(op, i) : std::nullopt;
  auto [by, axis] = *term;
  bool isNumber = by.kind == Step::Term::Number;
  Step step{Step::Affine, axis};
  switch (op.code) {
  case Op::MUL:
    step.scale = by;
    break;
  case Op::DIV:
    if (i != 0 || !isNumber)
      return std::nullopt;
    by.number = 1 / by.number;
    step.scale = by;
    break;
  case Op::ADD:
    step.shift = by;
    break;
  default: // SUB
    if (i == 0 && !isNumber)
      return std::nullopt;
    if (i == 0)
      by.number = -by.number;
    else
      step.scale = Step::Term::of(-1.0);
    step.shift = by;
  }
  Steps steps{step};
  if (x->shape != op.result()->shape) {
    if (!isNumber)
      steps.insert(steps.begin(), {Step::Reshape});
    else
      steps.push_back({Step::Reshape});
  }
  return steps;
}

/// Repeated along dimensions of size 1, and those missing in front.
Build::Steps Build::broadcast(const Value &from, const Value &to) {
  Steps steps;
  if (from.rank() != to.rank())
    steps.push_back({Step::Reshape});
  if (from.elementCount() != to.elementCount()) {
    Step &placed = steps.emplace_back(Step{Step::Placed});
    placed.first.assign(to.rank(), 0);
    placed.second.assign(to.rank() - from.rank(), 1);
    placed.second.append(from.shape.begin(), from.shape.end());
  }
  return steps;
}

/// How the result of an operator is its operand `i`, changed; nothing where no steps can say it.
std::optional<Build::Steps> Build::stepsFrom(const Operator &op, unsigned i, llvm::ArrayRef<Made> operands) {
  const Value *x = op.operand(i), &result = *op.result();
  bool sameCount = x->elementCount() == result.elementCount();
  if (op.code == Op::ADD && i == 0 && operands[1].nudges)
    return Steps(); // rounding is the step, to the one neighbour or the other
  switch (op.code) {
  case Op::ADD:
  case Op::SUB:
  case Op::MUL:
  case Op::DIV:
    return sameCount && op.numOperands() == 2 ? affine(op, i, operands[1 - i]) : std::nullopt;
  case Op::RESHAPE:
  case Op::SQUEEZE:
  case Op::EXPAND_DIMS:
    if (i != 0)
      return std::nullopt;
    return x->shape == result.shape ? Steps() : Steps{{Step::Reshape}};
  case Op::BROADCAST_TO:
    return i == 0 ? std::optional(broadcast(*x, result)) : std::nullopt;
  case Op::TRANSPOSE: {
    auto permutation = i == 0 ? readIntegers(op.operand(1)) : std::nullopt;
    if (!permutation)
      return std::nullopt;
    Step step{Step::Permute};
    step.first.assign(permutation->begin(), permutation->end());
    return Steps{step};
  }
  case Op::CAST:
    return Steps{{Step::Cast}};
  case Op::NEG: {
    Step step{Step::Affine};
    step.scale = Step::Term::of(-1.0);
    return Steps{step};
  }
  case Op::QUANTIZE:
    return Steps{{Step::Quantize}};
  case Op::DEQUANTIZE: // a relation is about real numbers
    return Steps();
  default:
    return std::nullopt;
  }
}

Build::Made Build::descent(const Operator &op) const {
  Made from;
  from.exact = computesExactly(op);
  llvm::SmallVector<Made, 2> operands;
  for (const Use &use : op.operands()) {
    Made &one = operands.emplace_back();
    if (!use.get())
      continue;
    if (auto known = made.find(use.get()); known != made.end()) {
      one = known->second;
    } else {
      one.base = use.get();
      one.exact = !use.get()->inexact;
      if (use.get()->isConstant())
        one.parents.push_back(use.get());
    }
    for (Value *parent : one.parents)
      if (!llvm::is_contained(from.parents, parent))
        from.parents.push_back(parent);
    from.exact &= one.exact;
  }
  // The first operand that the result can be said to be.
  for (auto [i, one] : llvm::enumerate(operands)) {
    auto steps = one.base ? stepsFrom(op, i, operands) : std::nullopt;
    if (!steps)
      continue;
    from.base = one.base;
    from.steps = one.steps;
    from.steps.append(steps->begin(), steps->end());
    break;
  }
  from.literal = from.parents.empty();
  return from;
}

} // namespace origo::rewrite
