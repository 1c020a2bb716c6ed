#include "passes/Rule.h"

namespace origo {

/// split_v(x, equal sizes, axis) → split(axis, x)
static Rule equalParts() {
  auto x = any(), sizes = constant(), axis = constant();
  auto split = op(Op::SPLIT_V, {x, sizes, axis});
  return {"equal-parts", "sizes or axis are not constant", split, [=](Match &m) {
            Node root = m.root();
            std::optional<Integers> parts = m.integers(m[sizes]);
            if (!parts || parts->size() != root.resultCount() || !m[x].isStatic())
              return decline("the sizes are not known before run time");
            for (unsigned i = 0; i < root.resultCount(); ++i)
              if (!root.result(i) || !root.result(i).isStatic() || !root.result(i).hasShapeOf(root.result()))
                return decline("the parts are of different sizes");
            auto count = static_cast<unsigned>(parts->size());
            Expr even = op(Op::SPLIT, {axis, x}).with("num_splits", count).results(count);
            std::vector<std::pair<Tensor, Expr>> places;
            for (unsigned i = 0; i < count; ++i)
              places.emplace_back(root.result(i), result(even, i));
            return m.replace(places);
          }};
}

Pass SubstituteSplitV() {
  return {"substitute-split-v",
          "split_v(x, equal sizes, axis) -> split(axis, x)",
          Phase::Simplify,
          true,
          {{"substitute_splitv_to_split", {}}},
          {equalParts()}};
}

} // namespace origo
