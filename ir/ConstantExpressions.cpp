#include "ir/ConstantExpressions.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

namespace {

bool onlyMoves(llvm::ArrayRef<Step> steps) {
  return llvm::all_of(steps, [](const Step &step) {
    return step.kind == Step::Permute || step.kind == Step::Reshape || step.kind == Step::Slice;
  });
}

/// Is it a number of a rewrite, or a list of axes or sizes, perhaps by what it has read in constants of the source?
bool isStated(const Value &constant) {
  if (!constant.relations.empty())
    return false;
  uint64_t count = 1;
  for (int32_t size : constant.shape)
    count *= static_cast<uint64_t>(size);
  bool isInteger = constant.type == TensorType::INT32 || constant.type == TensorType::INT64;
  return constant.sourceTensors.empty() || count == 1 || (isInteger && count <= ConstantExpressions::mostIntegers);
}

/// Does it only store floats as what holds less?
bool isRounding(const Operator &op) {
  const Value *from = op.numOperands() ? op.operand(0) : nullptr, *to = op.results().empty() ? nullptr : op.result(0);
  if (!from || !to || from->type != TensorType::FLOAT32)
    return false;
  return op.code == BuiltinOperator::QUANTIZE || (op.code == BuiltinOperator::CAST && to->type == TensorType::FLOAT16);
}

} // namespace

const ConstantExpressions::Place *ConstantExpressions::find(const Payload &payload) const {
  auto known = byBytes.find(keyOf(payload));
  return known == byBytes.end() || known->second.bytes.expired() ? nullptr : &known->second;
}

ConstantExpressions::Operand ConstantExpressions::of(const Value &constant) const {
  const Relation *moved = nullptr;
  for (const Relation &relation : constant.relations) {
    if (relation.steps == 0)
      return {Operand::Source, relation.tensor};
    if (!moved && onlyMoves(steps.get(relation.steps)))
      moved = &relation;
  }
  if (const Place *known = find(constant.payload()); known && !known->rounded)
    return known->operand;
  if (moved) {
    llvm::ArrayRef<Step> way = steps.get(moved->steps);
    return {Operand::Source, moved->tensor, {way.begin(), way.end()}};
  }
  return {isStated(constant) ? Operand::Given : Operand::Unknown};
}

ConstantExpressions::Operand ConstantExpressions::beforeRounding(const Value &constant) const {
  if (Operand plain = of(constant); plain.kind == Operand::Source || plain.kind == Operand::Made)
    return plain;
  if (const Place *known = find(constant.payload()))
    return known->operand;
  for (const Relation &relation : constant.relations)
    if (llvm::ArrayRef<Step> way = steps.get(relation.steps);
        !way.empty() && (way.back().kind == Step::Quantize || way.back().kind == Step::Cast) &&
        onlyMoves(way.drop_back()))
      return {Operand::Source, relation.tensor, {way.begin(), std::prev(way.end())}};
  return of(constant);
}

void ConstantExpressions::add(const Operator &op, llvm::ArrayRef<Payload> results) {
  if (!op.customCode().empty())
    return;
  // What is in numbers other than what it stands for is what a relation says.
  auto isPlain = [](const Value *value) { return !value || !value->quantization || !value->quantization->quantized(); };
  const bool rounds = isRounding(op);
  if (rounds && !results.empty() && op.operand(0)) {
    if (Operand operand = of(*op.operand(0)); operand.kind == Operand::Source || operand.kind == Operand::Made)
      place(results[0], operand, true);
    return;
  }
  if (!llvm::all_of(op.results(), isPlain))
    return;
  llvm::SmallVector<Operand, 2> operands;
  llvm::SmallVector<DetachedTensor> tensors, made;
  for (const Use &use : op.operands()) {
    const Value *value = use.get();
    Operand &operand = operands.emplace_back(value ? of(*value) : Operand());
    if (operand.kind == Operand::Unknown || (operand.kind != Operand::Source && !isPlain(value)))
      return;
    DetachedTensor &tensor = tensors.emplace_back();
    tensor.absent = !value;
    if (!value)
      continue;
    tensor.type = value->type;
    tensor.shape.assign(value->shape.begin(), value->shape.end());
    if (operand.kind == Operand::Given)
      tensor.payload = value->payload();
  }
  for (const Value *value : op.results()) {
    DetachedTensor &tensor = made.emplace_back();
    tensor.absent = !value;
    if (value) {
      tensor.type = value->type;
      tensor.shape.assign(value->shape.begin(), value->shape.end());
    }
  }
  for (unsigned i = 0; i < results.size() && i < made.size(); ++i) {
    if (made[i].absent || results[i].empty())
      continue;
    auto copy = std::make_unique<DetachedOperator>(op.code, tensors, made, op.options, op.options2());
    place(results[i], note({std::move(copy), i, operands}), false);
  }
}

void ConstantExpressions::add(const Value &constant, llvm::StringRef text) {
  if (!constant.payload().empty())
    place(constant.payload(), note({.text = text}),
          (constant.quantization && constant.quantization->quantized()) || constant.type == TensorType::FLOAT16);
}

void ConstantExpressions::place(const Payload &payload, Operand operand, bool rounded) {
  byBytes[keyOf(payload)] = {payload.lifetime(), std::move(operand), rounded};
}

ConstantExpressions::Operand ConstantExpressions::note(Noted what) {
  noted.push_back(std::move(what));
  return {Operand::Made, static_cast<uint32_t>(noted.size() - 1)};
}

} // namespace origo
