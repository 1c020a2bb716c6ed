#include "passes/Rule.h"

namespace origo {

Pass RemoveQuantDequant() {
  auto x = any();
  auto rounded = op(Op::DEQUANTIZE, {op(Op::QUANTIZE, {x})});
  Rule pair{"pair", "what is widened was not quantised before", rounded, [=](Match &m) {
              return m[x].hasTypeOf(m.root().result()) ? m.replace(x) : decline("was stored otherwise before");
            }};
  return Pass{"remove-quant-dequant",
              "dequantize(quantize(x)) -> x: changes results, for they are not rounded any more",
              Phase::Simplify,
              false,
              {{"remove_quantdequant", {}}},
              {pair},
              /*mergesConstants=*/false,
              /*changesResults=*/true}
      .withoutRounding("half a step of the pair, and what it clamped")
      .about(
          "The pair rounds `x` to the steps of its scale and clamps it to their range: that is all that it "
          "computes, and it is what goes, so results differ by half a step at most where `x` lies in the "
          "range, and by more outside of it. A pair that changes nothing cannot be told from one that does by "
          "its types; so this is no part of `-O1`, and `--verify-numerics` says of how many tensors it makes others.");
}

} // namespace origo
