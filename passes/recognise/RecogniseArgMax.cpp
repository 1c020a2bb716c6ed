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

/// arg_max(−x) → arg_min(x), and the other way round
static Rule ofOpposite(llvm::StringLiteral name, Op code, Op contrary) {
  auto x = any(), axis = any();
  auto position = op(code, {-x, axis});
  return {name, "not the position of an extreme of what is negated", position, [=](Match &m) {
            if (!m[x].isFloat())
              return decline("not float");
            return m.replace(op(contrary, {x, axis}).with("output_type", m.op(position).option("output_type")));
          }};
}

/// arg_max(one_hot(i) · cast(b)), b one truth value for each → i · cast(b): where b is false, all are equal, and the
/// first is the greatest. Positions that ARG_MAX found lie in the vector.
static Rule ofOneHot() {
  auto i = any(), depth = constant(), axis = constant(), b = any();
  auto places = op(Op::ONE_HOT, {i, depth, 1, 0}).once();
  auto condition = cast(b), shaped = anyOf(reshapes, {condition});
  auto product = (places * (shaped | condition)).once();
  auto again = op(Op::ARG_MAX, {product, axis});
  return {"one-hot", "not the position of the one in a one-hot vector of a position", again, [=](Match &m) {
            std::optional<Integers> along = m.integers(m[axis]), size = m.integers(m[depth]);
            int rank = m[places].rank();
            int64_t last = m.op(places).option("axis");
            if (!along || !along->isLastAxisOf(rank) || (last != -1 && last != rank - 1))
              return decline("not along the last axis");
            Range known = m.range(m[i]);
            if (!size || size->size() != 1 || !(known.low >= 0) || !(known.high < static_cast<double>(size->at(0))))
              return decline("a position may lie outside of the vector");
            Tensor mask = m.has(shaped) ? m[shaped] : m[b];
            bool one = mask.elementCount() == 1 && mask.rank() <= m[i].rank();
            bool each = mask.isStatic() && mask.rank() == rank && mask.lastDimension() == 1;
            if (m[b].type() != TensorType::BOOL || !(one || each) || !m[product].hasShapeOf(m[places]) ||
                !m[i].hasTypeOf(m.root().result()) || !m[i].hasShapeOf(m.root().result()))
              return decline("not one truth value for each vector, or another type");
            Expr chosen = clone(condition).as(m[i], m[b]), shape = list(one ? mask.shape() : mask.shape().drop_back());
            if (m.has(shaped) || each)
              chosen = reshape(chosen, shape).synthetic(SyntheticReason::LayoutBridge);
            return m.replace((i * chosen).as(m.root().result()));
          }};
}

Pass RecogniseArgMax() {
  return {"recognise-arg-max",
          "cast(arg_max(x)) -> arg_max(x) of the other type, arg_max(-x) -> arg_min(x), arg_max(one_hot(i) * cast(b)) "
          "-> i * cast(b) for positions i",
          Phase::Layout,
          true,
          {},
          {narrow(), ofOpposite("opposite-maximum", Op::ARG_MAX, Op::ARG_MIN),
           ofOpposite("opposite-minimum", Op::ARG_MIN, Op::ARG_MAX), ofOneHot()}};
}

} // namespace origo
