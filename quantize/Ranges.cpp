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

} // namespace origo::quantize
