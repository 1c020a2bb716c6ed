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

/// gather_nd(x, reshape(i)) → gather(x, i), where the reshape makes a list of one index of each
static Rule ofOneIndex() {
  auto x = any(), i = any();
  auto lists = anyOf(reshapes, {i});
  auto taken = op(Op::GATHER_ND, {x, lists});
  return {"one-index", "the indices are not reshaped", taken, [=](Match &m) {
            auto from = m[i].statedShape(), to = m[lists].statedShape();
            if (to.empty() || to.back() != 1 || to.drop_back() != from || llvm::count(from, -1) > 1 || m[x].rank() < 1)
              return decline("not one index in each list");
            if (m[i].type() != TensorType::INT32 && m[i].type() != TensorType::INT64)
              return decline("the indices are neither int32 nor int64");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(m[taken]))
              return decline("changes the quantisation");
            return m.replace(gather(x, i));
          }};
}

/// reshape(gather(T, i)) → gather(T reshaped, i) of a constant, whose rows the reshape takes apart or puts together
static Rule ofReshapedTable() {
  auto table = constant(), i = any();
  auto taken = op(Op::GATHER, {table, i}).once();
  auto shaped = anyOf(reshapes, {taken});
  return {"reshaped-table", "not the reshape of what is gathered of a constant and used once", shaped, [=](Match &m) {
            if (m.op(taken).option("axis") != 0 || m.op(taken).option("batch_dims") != 0 || m[table].rank() < 1)
              return decline("not rows, or by batch");
            if (!m[i].isStatic() || !m[shaped].isStatic() || !m[table].isPerTensor() ||
                !m[table].hasQuantizationOf(m[shaped]))
              return decline("the shapes are not known before run time, or quantised by channel");
            auto to = m[shaped].shape();
            size_t front = m[i].shape().size();
            if (to.size() < front || to.take_front(front) != m[i].shape())
              return decline("the indices are reshaped as well");
            if (m[table].isShared())
              return decline("the constant has other users, for whom it would have to stay");
            llvm::SmallVector<int32_t, 6> rows{m[table].shape()[0]};
            llvm::append_range(rows, to.drop_front(front));
            return m.replace(clone(taken).operand(0, fold(reshape(table, list(rows)))));
          }};
}

Pass SubstituteGather() {
  return {
      "substitute-gather",
      "gather(x, consecutive indices) -> slice(x), or x where that is all of it; gather_nd(x, lists of one index) -> "
      "gather(x, indices); reshape(gather(T, i)) -> gather(reshape(T), i) for a constant T",
      Phase::Simplify,
      true,
      {},
      {ofRange(), ofOneIndex(), ofReshapedTable()}};
}

} // namespace origo
