#include "passes/Rule.h"

namespace origo {

/// quantize(quantize(x)) → quantize(x), with the scales of the outer one.
static Rule chain() {
  auto x = any();
  return {"chain", "not quantised before", op(Op::QUANTIZE, {op(Op::QUANTIZE, {x})}),
          [=](Match &m) { return m.replace(cloneRoot().operand(0, x).as(m.root().result())); }};
}

/// quantize(x) → x where x is stored like that.
static Rule stored() {
  auto x = any();
  return {"stored", "", op(Op::QUANTIZE, {x}), [=](Match &m) {
            return m[x].isLike(m.root().result()) ? m.replace(x) : decline("is stored otherwise before");
          }};
}

Pass RemoveRedundantQuantize() {
  return Pass{"remove-redundant-quantize",
          "quantize(quantize(x)) -> quantize(x), quantize(x) -> x where nothing changes: changes results of the first",
          Phase::Simplify,
          false,
          {{"remove_redundant_quantize", {}}},
          {stored(), chain()},
          /*mergesConstants=*/false,
          /*changesResults=*/true}
      .about("The inner QUANTIZE rounds and clamps to its own type and scale, the outer one rounds what is left "
             "of that. Without the inner one, numbers are rounded once: results may differ by a step of the inner "
             "scale, and what the inner one clamped comes through. `QUANTIZE` to what a tensor is already changes "
             "nothing, and goes without a change of results.");
}

} // namespace origo
