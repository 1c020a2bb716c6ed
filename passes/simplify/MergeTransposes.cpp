#include "passes/Rule.h"

namespace origo {

/// transpose(transpose(x, p), q) → transpose(x, p∘q), or x where that is the identity.
static Rule merge() {
  auto x = any(), p = constant(), q = constant();
  auto inner = transpose(x, p), outer = transpose(inner, q);
  return {"merge", "not two transposes in a row with constant permutations", outer, [=](Match &m) {
            std::optional<Integers> first = m.integers(m[p]), second = m.integers(m[q]);
            size_t rank = m[x].shape().size();
            if (!first || !second || !first->isPermutation(rank) || !second->isPermutation(rank))
              return decline("not two transposes in a row with constant permutations");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(m[outer]))
              return decline("the inner transpose changes the quantisation");
            if (first->inverse() == *second)
              return m.replace(x);
            return m.replace(clone(outer).operand(0, x).operand(1, fold(gather(p, q))));
          }};
}

Pass MergeTransposes() {
  return {"merge-transposes",
          "transpose(transpose(x, p), q) -> transpose(x, p after q), or x where that is the identity",
          Phase::Simplify,
          true,
          {{"remove_redundant_transpose", {}}},
          {merge()}};
}

} // namespace origo
