#include "passes/Rule.h"

namespace origo {

/// CUSTOM "SplitV"(x, sizes, axis) → split_v(x, sizes, axis)
static Rule resolve() {
  auto x = any(), sizes = constant(), axis = constant();
  auto split = custom("SplitV", {x, sizes, axis});
  return {"split-v", "not a custom SplitV with constant sizes and axis", split, [=](Match &m) {
            std::optional<Integers> parts = m.integers(m[sizes]), along = m.integers(m[axis]);
            if (!parts || !along || along->size() != 1 || parts->size() != m.root().resultCount())
              return decline("the sizes are not one for each part");
            auto count = static_cast<unsigned>(parts->size());
            // Integers of 64 bits, which these are often, are not what the builtin operator takes as an axis.
            Expr builtin = op(Op::SPLIT_V, {x, *parts, *along}).with("num_splits", count).results(count);
            std::vector<std::pair<Tensor, Expr>> places;
            for (unsigned i = 0; i < count; ++i)
              places.emplace_back(m.root().result(i), result(builtin, i));
            return m.replace(places);
          }};
}

Pass ResolveCustomSplitV() {
  return {"resolve-custom-split-v",
          "custom SplitV(x, sizes, axis) -> split_v(x, sizes, axis)",
          Phase::Decompose,
          true,
          {{"resolve_customop_splitv", {}}},
          {resolve()}};
}

} // namespace origo
