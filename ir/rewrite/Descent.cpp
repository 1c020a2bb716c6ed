#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"

#include "llvm/ADT/STLExtras.h"

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
  if (op.code == Op::DEQUANTIZE && op.operand(0) && op.operand(0)->type == TensorType::FLOAT16)
    return true;
  auto isPlain = [](const Value *v) {
    return !v || (!isReal(v->type) && !(v->quantization && v->quantization->quantized()));
  };
  return llvm::all_of(op.results(), isPlain) &&
         llvm::all_of(op.operands(), [&](const Use &use) { return isPlain(use.get()); });
}

using Steps = llvm::SmallVector<Step, 2>;

/// One operand is a number: the other one, multiplied and shifted.
static std::optional<Steps> affine(const Operator &op, unsigned i) {
  const Value *x = op.operand(i), *other = op.operand(1 - i);
  auto number = other ? readConstant<float>(other, 1) : std::nullopt;
  if (!number || number->size() != 1)
    return std::nullopt;
  double n = number->front();
  auto term = [](double value) { return Step::Term{Step::Term::Number, value, nullptr}; };
  Step step{Step::Affine};
  switch (op.code) {
  case Op::MUL:
    step.scale = term(n);
    break;
  case Op::DIV:
    if (i != 0)
      return std::nullopt;
    step.scale = term(1 / n);
    break;
  case Op::ADD:
    step.shift = term(n);
    break;
  default: // SUB
    step.scale = i == 0 ? Step::Term{} : term(-1);
    step.shift = term(i == 0 ? -n : n);
  }
  Steps steps{step};
  if (x->shape != op.result()->shape)
    steps.push_back({Step::Reshape});
  return steps;
}

/// Repeated along dimensions of size 1, and those missing in front.
static Steps broadcast(const Value &from, const Value &to) {
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
static std::optional<Steps> stepsFrom(const Operator &op, unsigned i) {
  const Value *x = op.operand(i), &result = *op.result();
  bool sameCount = x->elementCount() == result.elementCount();
  switch (op.code) {
  case Op::ADD:
  case Op::SUB:
  case Op::MUL:
  case Op::DIV:
    return sameCount && op.numOperands() == 2 ? affine(op, i) : std::nullopt;
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
    step.scale = {Step::Term::Number, -1, nullptr};
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
    auto steps = one.base ? stepsFrom(op, i) : std::nullopt;
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
