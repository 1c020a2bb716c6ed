#include "quantize/Blocks.h"

#include "eval/Numbers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <map>

namespace origo::quantize {

float blockScale(float scale) {
  uint32_t bits = llvm::bit_cast<uint32_t>(scale);
  bits += 0x7fff + (bits >> 16 & 1); // to the nearest, of two to the even one
  float rounded = llvm::bit_cast<float>(bits & 0xffff0000u);
  // Below that digits are lost; what is so small is zero beside it.
  constexpr float least = 0x1p-14f;
  return eval::halfToFloat(eval::floatToHalf(std::isfinite(scale) ? std::max(rounded, least) : scale));
}

void storeBlockScales(Model &model) {
  // Weights of several subgraphs that have one buffer have one for their scales, too.
  std::map<std::pair<const Buffer *, std::string>, Buffer *> buffers;
  for (auto &graph : model.subgraphs) {
    llvm::MapVector<const Quantization *, llvm::SmallVector<Value *, 1>> lists;
    for (Value *value : graph->values)
      if (const Quantization *q = value->quantization;
          q && !value->erased() && value->isConstant() && !value->unused() &&
          q->details == Quantization::Details::Blockwise && !q->more->scales && !q->scale.empty())
        lists[q].push_back(value);
    for (auto &[list, weights] : lists) {
      const Value &first = *weights.front();
      int32_t rows = first.shape.front();
      std::string halves;
      for (float scale : list->scale) {
        uint16_t half = eval::floatToHalf(scale);
        halves += {static_cast<char>(half & 255), static_cast<char>(half >> 8)};
      }
      Value &scales = model.addValue(*graph);
      Buffer *&buffer = buffers[{first.buffer, halves}];
      if (!buffer)
        buffer = &model.addBuffer(Payload::owned(std::move(halves)));
      scales.buffer = buffer;
      scales.type = TensorType::FLOAT16;
      scales.hasShape = true;
      scales.hasRank = first.hasRank;
      scales.shape = {rows, rows > 0 ? static_cast<int32_t>(list->scale.size()) / rows : 0};
      scales.name = (first.name.text() + "_scales").str();
      scales.sourceTensors = first.sourceTensors;
      scales.sourceOperators = first.sourceOperators;
      scales.noRelation = NoRelation::Approximated;
      Quantization stored = *list;
      stored.scale = {};
      stored.zeroPoint = {};
      stored.dimension = 0;
      stored.more.make().scales = &scales;
      for (Value *value : weights)
        model.setQuantization(*value, stored);
    }
  }
  model.number();
}

} // namespace origo::quantize
