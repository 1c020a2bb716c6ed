#include "quantize/Ranges.h"

namespace origo::quantize {

template <class F> static void forEachValue(Model &model, F visit) {
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      if (!value->erased() && value->quantization)
        visit(*value);
}

void clearParameters(Model &model) {
  forEachValue(model, [](Value &value) {
    if (value.type == TensorType::FLOAT32 && value.quantization->details == Quantization::Details::None)
      value.quantization = nullptr;
  });
}

void clearRanges(Model &model) {
  forEachValue(model, [&](Value &value) {
    if (value.quantization->min.empty() && value.quantization->max.empty())
      return;
    Quantization quantization = *value.quantization;
    quantization.min = quantization.max = {};
    if (!quantization.quantized())
      value.quantization = nullptr;
    else
      model.setQuantization(value, quantization);
  });
}

llvm::DenseSet<const Value *> computedFromConstants(const Model &model) {
  llvm::DenseSet<const Value *> all;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      bool any = false, fixed = op.effects() == 0;
      for (unsigned i = 0; i < op.numOperands() && fixed; ++i)
        if (const Value *value = op.operand(i)) {
          any = true;
          fixed = value->isConstant() || all.contains(value);
        }
      for (const Value *result : op.results())
        if (any && fixed && result)
          all.insert(result);
    }
  return all;
}

static llvm::Expected<Value *> tensorNamed(Model &model, llvm::StringRef name) {
  Value *found = nullptr;
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values) {
      if (value->erased() || value->name != name)
        continue;
      if (found)
        return makeError("several tensors are called \"" + printable(name) + "\"");
      found = value;
    }
  if (!found)
    return makeError("no tensor is called \"" + printable(name) + "\"");
  return found;
}

llvm::Error forceParameters(Model &model, llvm::StringRef tensor, float scale, int64_t zeroPoint) {
  auto value = tensorNamed(model, tensor);
  if (!value)
    return value.takeError();
  Quantization quantization;
  quantization.scale = model.copy(llvm::ArrayRef(scale));
  quantization.zeroPoint = model.copy(llvm::ArrayRef(zeroPoint));
  model.setQuantization(**value, quantization);
  return llvm::Error::success();
}

llvm::Error copyParameters(Model &model, llvm::StringRef from, llvm::StringRef to) {
  auto source = tensorNamed(model, from), target = tensorNamed(model, to);
  if (!source || !target)
    return firstError(source, target);
  const Quantization *parameters = (*source)->quantization;
  if (!parameters)
    return makeError("tensor \"" + printable(from) + "\" has no parameters");
  if (parameters->details != Quantization::Details::None)
    return makeError("tensor \"" + printable(from) + "\" has parameters beyond scales, which are not copied");
  model.setQuantization(**target, *parameters);
  return llvm::Error::success();
}

} // namespace origo::quantize
