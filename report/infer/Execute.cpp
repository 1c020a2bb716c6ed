#include "report/infer/Execute.h"

#include "eval/RealNumbers.h"
#include "ir/DetachedOperator.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::report {

using namespace eval;

bool storesOtherwise(const Operator &op) {
  const Value *from = op.operand(0), *to = op.result();
  if (!from || !to)
    return false;
  switch (op.code) {
  case BuiltinOperator::QUANTIZE:
  case BuiltinOperator::DEQUANTIZE:
    return true;
  case BuiltinOperator::CAST:
    return isFloat(from->type) && isFloat(to->type);
  default:
    return false;
  }
}

namespace {

/// In memory, the numbers of a tensor as `type` stores them.
std::optional<OwnedTensor> stored(const RealTensor &from, TensorType type, const Quantization *quantization) {
  auto size = payloadBytes(type, from.numbers.size());
  if (!size || !storesNumbers(type))
    return std::nullopt;
  OwnedTensor made{type, from.shape, std::vector<uint8_t>(*size)};
  Tensor view;
  view.type = type;
  view.shape = from.shape;
  view.quantization = quantization;
  view.storage = made.bytes;
  if (!storeNumbers(view, std::vector<double>(from.numbers.begin(), from.numbers.end())))
    return std::nullopt;
  return made;
}

} // namespace

std::optional<std::vector<std::optional<RealTensor>>>
execute(const Operator &op, llvm::ArrayRef<const RealTensor *> operands, bool asStored) {
  if (storesOtherwise(op) && !operands.empty() && operands[0])
    return std::vector<std::optional<RealTensor>>{*operands[0]};
  llvm::SmallVector<DetachedTensor> from, to;
  std::vector<OwnedTensor> given;
  given.reserve(op.numOperands());
  llvm::SmallVector<std::optional<unsigned>> place;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    DetachedTensor &tensor = from.emplace_back();
    auto &at = place.emplace_back();
    tensor.absent = !value;
    if (!value)
      continue;
    bool inFloat = isReal(*value) && !asStored;
    tensor.type = inFloat ? TensorType::FLOAT32 : value->type;
    tensor.quantization = inFloat ? nullptr : value->quantization;
    tensor.shape.assign(value->shape.begin(), value->shape.end());
    if (value->isConstant() && !inFloat) {
      if (value->sparsity() || value->compression || value->externalBuffer)
        return std::nullopt;
      tensor.payload = value->payload();
      continue;
    }
    if (!operands[i])
      return std::nullopt;
    tensor.shape = operands[i]->shape;
    auto made = stored(*operands[i], tensor.type, tensor.quantization);
    if (!made)
      return std::nullopt;
    at = static_cast<unsigned>(given.size());
    given.push_back(std::move(*made));
  }
  for (const Value *value : op.results()) {
    DetachedTensor &tensor = to.emplace_back();
    tensor.absent = !value;
    if (!value)
      continue;
    bool inFloat = isReal(*value) && !asStored;
    tensor.type = inFloat ? TensorType::FLOAT32 : value->type;
    tensor.quantization = inFloat ? nullptr : value->quantization;
    tensor.shape.assign(value->shape.begin(), value->shape.end());
  }
  if (!op.customCode().empty() || !op.intermediates().empty() || op.effects())
    return std::nullopt;
  DetachedOperator alone(op.code, from, to, op.options, op.options2());
  alone.get().version = op.version;
  std::vector<TensorRef> refs(given.begin(), given.end());
  llvm::SmallVector<const TensorRef *> chosen;
  for (auto &at : place)
    chosen.push_back(at ? &refs[*at] : nullptr);
  auto results = runOperator(alone.get(), chosen);
  if (!results) {
    llvm::consumeError(results.takeError());
    return std::nullopt;
  }
  std::vector<std::optional<RealTensor>> made;
  for (auto [i, result] : llvm::enumerate(*results)) {
    if (to[i].absent) {
      made.emplace_back();
      continue;
    }
    Tensor view;
    view.type = result.type;
    view.shape = result.shape;
    view.quantization = to[i].quantization;
    view.storage = result.bytes;
    made.push_back(RealTensor::of(view));
  }
  return made;
}

} // namespace origo::report
