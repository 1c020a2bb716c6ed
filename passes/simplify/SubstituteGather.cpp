#include "passes/Rule.h"

namespace origo {

/// gather(x, i … i+n−1) → slice(x), or x where that is all of it.
static Rule ofRange() {
  auto x = any(), indices = constant();
  auto taken = op(Op::GATHER, {x, indices});
  return {
      "range", "the indices are not constant", taken, [=](Match &m) {
        Tensor result = m[taken];
        int64_t axis = m.op(taken).option("axis"), rank = m[x].rank();
        axis += axis < 0 ? rank : 0;
        std::optional<Integers> list = m.integers(m[indices]);
        if (!list || list->size() == 0 || axis < 0 || axis >= rank || m[x].statedShape()[axis] < 1 || rank > 5 ||
            m.op(taken).option("batch_dims") != 0)
          return decline("the indices or the dimension are not known before run time, or go by batch");
        if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(result))
          return decline("changes the quantisation");
        if (list->at(0) < 0 || !list->countUp())
          return decline("the indices are not consecutive");
        bool whole = list->is(0, 0) && static_cast<int64_t>(list->size()) == m[x].statedShape()[axis];
        if (whole && m[indices].rank() == 1)
          return m.replace(x);
        if (whole && m[x].isStaticButOne() && result.isStaticButOne())
          return m.replace(reshape(x, origo::rewrite::list(result.statedShape())));
        if (m[indices].rank() != 1 || list->at(0) + static_cast<int64_t>(list->size()) > m[x].statedShape()[axis])
          return decline("the result has other dimensions, or an index lies outside");
        std::vector<int32_t> begin(rank, 0);
        begin[axis] = static_cast<int32_t>(list->at(0));
        return m.replace(op(Op::SLICE, {x, list->with(begin), origo::rewrite::list(result.statedShape())}).as(result));
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
