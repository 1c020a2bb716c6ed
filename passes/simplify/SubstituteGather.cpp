#include "passes/Rule.h"

namespace origo {

/// gather(x, i … i+n−1) → slice(x), or x where that is all of it.
static Rule ofRange() {
  auto x = any(), indices = constant();
  auto taken = op(Op::GATHER, {x, indices});
  return {"range", "the indices are not constant", taken, [=](Match &m) {
            Tensor result = m[taken];
            int64_t axis = m.op(taken).option("axis"), rank = m[x].rank();
            axis += axis < 0 ? rank : 0;
            std::optional<Integers> list = m.integers(m[indices]);
            if (!list || list->size() == 0 || !m[x].isStatic() || !result.isStatic() || axis < 0 || axis >= rank ||
                rank > 5 || m.op(taken).option("batch_dims") != 0)
              return decline("the indices or the shapes are not known before run time, or go by batch");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(result))
              return decline("changes the quantisation");
            for (size_t i = 0; i < list->size(); ++i)
              if (list->at(i) < 0 || list->at(i) != list->at(0) + static_cast<int64_t>(i))
                return decline("the indices are not consecutive");
            bool whole = list->at(0) == 0 && static_cast<int64_t>(list->size()) == m[x].shape()[axis];
            if (whole)
              return m[x].hasShapeOf(result) ? m.replace(x) : m.replace(reshape(x, shapeOf(result)));
            if (m[indices].rank() != 1 || list->at(0) + static_cast<int64_t>(list->size()) > m[x].shape()[axis])
              return decline("the result has other dimensions, or an index lies outside");
            std::vector<int32_t> begin(rank, 0);
            begin[axis] = static_cast<int32_t>(list->at(0));
            return m.replace(op(Op::SLICE, {x, list->with(begin), shapeOf(result)}));
          }};
}

Pass SubstituteGather() {
  return {"substitute-gather",
          "gather(x, consecutive indices) -> slice(x), or x where that is all of it",
          Phase::Simplify,
          true,
          {},
          {ofRange()}};
}

} // namespace origo
