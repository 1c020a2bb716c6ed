#include "passes/Rule.h"

namespace origo {

Pass RemoveFakeQuant() {
  auto x = any();
  return Pass{"remove-fake-quant",
              "fake_quant(x) -> x, which was there for training: changes results",
              Phase::Simplify,
              false,
              {{"remove_fakequant", {}}},
              {{"fake-quant", "", op(Op::FAKE_QUANT, {x}), x}},
              /*mergesConstants=*/false,
              /*changesResults=*/true}
      .withoutRounding("half a step of FAKE_QUANT, and what it clamped")
      .about("FAKE_QUANT rounds and clamps as quantised inference would, for training. Without it the network is "
             "the float one: results differ by half a step of it, and by more where it clamped.");
}

} // namespace origo
