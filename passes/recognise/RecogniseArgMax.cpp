#include "passes/Rule.h"

namespace origo {

/// cast(arg_max(x) in int64) → arg_max(x) in int32, which has every position of a dimension.
static Rule narrow() {
  auto position = anyOf({Op::ARG_MAX, Op::ARG_MIN}).once();
  return {"narrow", "not the type of a position that is used once", cast(position), [=](Match &m) {
            TensorType type = m.root().result().type();
            if (type != TensorType::INT32 && type != TensorType::INT64)
              return decline("cast to another type than ARG_MAX has");
            return m.replace(clone(position).with("output_type", static_cast<int64_t>(type)));
          }};
}

/// arg_max(one_hot(arg_max(x)) · cast(b)), b one truth value → arg_max(x) · cast(b): where b is false, all are equal,
/// and the first is the greatest.
static Rule ofOneHot() {
  auto depth = constant(), axis = constant(), b = any();
  auto position = anyOf({Op::ARG_MAX, Op::ARG_MIN}).once();
  auto condition = cast(b).once();
  auto places = op(Op::ONE_HOT, {position, depth, 1, 0}).once();
  auto again = op(Op::ARG_MAX, {places * condition, axis});
  return {"one-hot", "not the position of the one in a one-hot vector of a position", again, [=](Match &m) {
            std::optional<Integers> along = m.integers(m[axis]), size = m.integers(m[depth]);
            Node first = m.op(position);
            std::optional<Integers> over = first.operand(1).isConstant() ? m.integers(first.operand(1)) : std::nullopt;
            auto axes = over ? over->axesOf(first.operand(0u).rank()) : std::nullopt;
            int rank = m[places].rank();
            int64_t last = m.op(places).option("axis");
            if (!along || !along->isLastAxisOf(rank) || (last != -1 && last != rank - 1) || !axes || axes->size() != 1)
              return decline("not along the last axis");
            int32_t positions = first.operand(0u).statedShape()[axes->front()];
            if (positions < 0 || !size || size->size() != 1 || positions > size->at(0))
              return decline("a position may lie behind the vector");
            if (m[b].type() != TensorType::BOOL || m[b].elementCount() != 1 || m[b].rank() > m[position].rank() ||
                !m[position].hasTypeOf(m.root().result()) || !m[position].hasShapeOf(m.root().result()))
              return decline("not one truth value, or another type");
            return m.replace((clone(position) * cast(b).as(m[position], m[b])).as(m.root().result()));
          }};
}

Pass RecogniseArgMax() {
  return {"recognise-arg-max",
          "cast(arg_max(x)) -> arg_max(x) of the other type, arg_max(one_hot(arg_max(x)) * cast(b)) -> arg_max(x) * "
          "cast(b)",
          Phase::Recognise,
          true,
          {},
          {narrow(), ofOneHot()}};
}

} // namespace origo
