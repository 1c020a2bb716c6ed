#include "passes/Rule.h"

namespace origo {

Pass RemoveFakeQuant() {
  auto x = any();
  return {"remove-fake-quant",
          "fake_quant(x) -> x, which was there for training: changes results",
          Phase::Simplify,
          false,
          {{"remove_fakequant", {}}},
          {{"fake-quant", "", op(Op::FAKE_QUANT, {x}), x}},
          /*mergesConstants=*/false,
          /*changesResults=*/true};
}

} // namespace origo
