#include "passes/Rule.h"

namespace origo {

/// quantize(quantize(x)) → quantize(x), with the scales of the outer one.
static Rule chain() {
  auto x = any();
  return {"chain", "not quantised before", op(Op::QUANTIZE, {op(Op::QUANTIZE, {x})}),
          [=](Match &m) { return m.replace(cloneRoot().operand(0, x).as(m.root().result())); }};
}

Pass RemoveRedundantQuantize() {
  return Pass{"remove-redundant-quantize",
              "quantize(quantize(x)) -> quantize(x): changes results",
              Phase::Simplify,
              false,
              {{"remove_redundant_quantize", {}}},
              {chain()},
              /*mergesConstants=*/false,
              /*changesResults=*/true}
      .withoutRounding("a step of the inner scale, and what that clamped")
      .about("The inner QUANTIZE rounds and clamps to its own type and scale, the outer one rounds what is left "
             "of that. Without the inner one, numbers are rounded once: results may differ by a step of the inner "
             "scale, and what the inner one clamped comes through.");
}

} // namespace origo
