#include "passes/Rule.h"

namespace origo {

Pass RemoveQuantDequant() {
  auto x = any();
  auto rounded = op(Op::DEQUANTIZE, {op(Op::QUANTIZE, {x})});
  Rule pair{"pair", "what is widened was not quantised before", rounded, [=](Match &m) {
              return m[x].hasTypeOf(m.root().result()) ? m.replace(x) : decline("was stored otherwise before");
            }};
  return {"remove-quant-dequant",
          "dequantize(quantize(x)) -> x: changes results, for they are not rounded any more",
          Phase::Simplify,
          false,
          {{"remove_quantdequant", {}}},
          {pair},
          /*mergesConstants=*/false,
          /*changesResults=*/true};
}

} // namespace origo
