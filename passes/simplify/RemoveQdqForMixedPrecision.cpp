#include "passes/Rule.h"

namespace origo {

Pass RemoveQdqForMixedPrecision() {
  auto product = anyOf({Op::FULLY_CONNECTED, Op::BATCH_MATMUL}).mayActivate();
  auto twice = op(Op::QUANTIZE, {op(Op::DEQUANTIZE, {op(Op::QUANTIZE, {product})})});
  Rule once{"once", "no matrix product that is quantised, widened and quantised", twice,
            [=](Match &m) { return m.replace(cloneRoot().operand(0, m[product]).as(m.root().result())); }};
  return Pass{"remove-qdq-for-mixed-precision",
              "quantize(dequantize(quantize(a . b))) -> quantize(a . b): changes results, for they are rounded once",
              Phase::Simplify,
              false,
              {{"remove_qdq_for_mpo", {}}},
              {once},
              /*mergesConstants=*/false,
              /*changesResults=*/true}
      .withoutRounding("half a step of the first pair, and what it clamped")
      .about("Between a matrix product and a layer of another precision, the product is stored twice: with the "
             "scale of its own layer, then with that of the next. The first is left out, so results differ by as "
             "much as it rounded and clamped. Other users of the first keep it.");
}

} // namespace origo
