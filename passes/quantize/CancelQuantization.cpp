#include "passes/Rule.h"

namespace origo {

static bool isInteger(Tensor x) {
  return x.type() == TensorType::INT8 || x.type() == TensorType::UINT8 || x.type() == TensorType::INT16;
}

Pass CancelQuantization() {
  auto x = any();
  auto real = op(Op::DEQUANTIZE, {x});
  Rule rule{"bridges", "not stored as it was before", op(Op::QUANTIZE, {real}), [=](Match &m) {
              if (!isInteger(m[x]) || !isInteger(m.root().result()) || !m[x].isPerTensor())
                return decline("not of integers with one scale");
              if (m[x].isLike(m.root().result()))
                return m.replace(x);
              return m.replace(op(Op::QUANTIZE, {x}).as(m.root().result()));
            }};
  return {"cancel-quantization",
          "quantize(dequantize(q)) = q, or quantize(q) where the scales differ",
          Phase::Quantize,
          false,
          {},
          {rule}};
}

} // namespace origo
