#include "passes/Rule.h"

namespace origo {

static bool isInteger(Tensor x) {
  return x.type() == TensorType::INT8 || x.type() == TensorType::UINT8 || x.type() == TensorType::INT16;
}

/// quantize(dequantize(q)) → quantize(q)
static Rule bridges() {
  auto x = any();
  auto real = op(Op::DEQUANTIZE, {x});
  return {"bridges", "not stored as it was before", op(Op::QUANTIZE, {real}), [=](Match &m) {
            if (!isInteger(m[x]) || !isInteger(m.root().result()) || !m[x].isPerTensor())
              return decline("not of integers with one scale");
            return m.replace(op(Op::QUANTIZE, {x}).as(m.root().result()));
          }};
}

/// dequantize(quantize(move(dequantize(q)))) → move(dequantize(q)), for what is only moved is rounded already
static Rule moved() {
  auto x = any();
  auto move = anyWith(Trait::DataMovement, {op(Op::DEQUANTIZE, {x})});
  auto stored = op(Op::QUANTIZE, {move});
  return {"moved", "what is widened was not rounded and moved before", op(Op::DEQUANTIZE, {stored}), [=](Match &m) {
            if (!m[x].hasTypeOf(m[stored]) || !m[x].hasQuantizationOf(m[stored]) || !m[x].isPerTensor())
              return decline("is rounded to other numbers");
            return m.replace(m[move]);
          }};
}

Pass CancelQuantization() {
  return {"cancel-quantization",
          "quantize(dequantize(q)) -> quantize(q); what is moved in between is not rounded again",
          Phase::Quantize,
          false,
          {},
          {bridges(), moved()}};
}

} // namespace origo
