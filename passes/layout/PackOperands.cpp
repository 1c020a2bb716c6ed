#include "passes/Rule.h"

namespace origo {

/// pack(one_hot(x), one_hot(y), …) → one_hot(pack(x, y, …)) of the same vectors
static Rule oneHot() {
  auto x = any(), depth = any(), on = any(), off = any();
  auto places = op(Op::ONE_HOT, {x, depth, on, off}).once();
  auto packed = anyOf({Op::PACK}).each(places);
  return {"one-hot", "an operand is no one-hot vector with this use only", packed, [=](Match &m) {
            int rank = m.root().operand(0).rank();
            int64_t axis = m.root().option("axis");
            axis += axis < 0 ? rank + 1 : 0;
            Expr inner = cloneRoot().with("axis", axis);
            for (unsigned i = 0; i < m.root().operandCount(); ++i) {
              Tensor one = m.at(i, x);
              if (!(m.at(i, depth) == m.at(0, depth)) || !(m.at(i, on) == m.at(0, on)) ||
                  !(m.at(i, off) == m.at(0, off)) || !one.isLike(m.at(0, x)) || one.rank() + 1 != rank)
                return decline("the vectors have different sizes or values");
              if (int64_t along = m.op(i, places).option("axis"); along != -1 && along != rank - 1)
                return decline("the vectors do not lie along the last dimension");
              inner = inner.operand(i, one);
            }
            if (axis >= rank || m[packed].isQuantized())
              return decline("they are put behind the vectors, or quantised");
            return m.replace(op(Op::ONE_HOT, {inner, m.at(0, depth), m.at(0, on), m.at(0, off)}).with("axis", -1));
          }};
}

/// pack(x · s, y · t, …) → pack(x, y, …) · pack(s, t, …) for numbers s, t, …
static Rule scaled() {
  auto a = any(), b = any();
  auto packed = anyOf({Op::PACK}).each(op(Op::MUL, {a, b}).once());
  return {"scaled", "an operand is no product with this use only", packed, [=](Match &m) {
            auto count = static_cast<int32_t>(m.root().operandCount());
            Tensor first = m.root().operand(0);
            int64_t axis = m.root().option("axis");
            axis += axis < 0 ? first.rank() + 1 : 0;
            if (count < 4 || !first.isFloat() || axis < 0 || axis > first.rank())
              return decline("there would be no fewer operators, or not float");
            Expr inner = cloneRoot();
            std::vector<Expr> numbers;
            for (int32_t i = 0; i < count; ++i) {
              bool swapped = m.at(i, a).rank() == 0;
              Tensor x = m.at(i, swapped ? b : a), number = m.at(i, swapped ? a : b);
              if (number.rank() != 0 || !number.isStatic() || !x.isStatic() || !x.hasShapeOf(m.root().operand(i)))
                return decline("an operand is not multiplied by a number");
              inner = inner.operand(i, x);
              numbers.emplace_back(number);
            }
            std::vector<int32_t> shape(first.rank() + 1, 1);
            shape[axis] = count;
            Expr scales = op(Op::PACK, numbers).with("values_count", count).with("axis", 0);
            return m.replace(inner * reshape(scales, list(shape)).synthetic(SyntheticReason::LayoutBridge));
          }};
}

/// pack(u, v, …) → x where these are all that unpack(x) gives, in their order
static Rule unpacked() {
  constexpr unsigned most = 64;
  auto x = any();
  auto parts = op(Op::UNPACK, {x});
  std::vector<Expr> each;
  for (unsigned i = 0; i < most; ++i)
    each.push_back(result(parts, i));
  Expr part = each.front();
  for (unsigned i = 1; i < most; ++i)
    part = part | each[i];
  auto packed = anyOf({Op::PACK}).each(part);
  return {"unpacked", "an operand is not the result of unpacking", packed, [=](Match &m) {
            unsigned count = m.root().operandCount();
            if (count > most || m.op(0, parts).resultCount() != count)
              return decline("not all of what is unpacked, or too many");
            int64_t from = m.op(0, parts).option("axis"), to = m.root().option("axis"), rank = m.at(0, x).rank();
            if (from + (from < 0 ? rank : 0) != to + (to < 0 ? rank : 0))
              return decline("along another dimension");
            for (unsigned i = 0; i < count; ++i)
              if (!(m.at(i, x) == m.at(0, x)) || !m.at(i, each[i]))
                return decline("in another order, or of different tensors");
            return m[packed].isLike(m.at(0, x)) ? m.replace(m.at(0, x)) : decline("changes the quantisation");
          }};
}

Pass PackOperands() {
  return {"pack-operands",
          "pack(one_hot(x), one_hot(y)) -> one_hot(pack(x, y)), pack(x * s, y * t) -> pack(x, y) * pack(s, t) for "
          "numbers s and t, pack(unpack(x)) -> x",
          Phase::Layout,
          true,
          {},
          {oneHot(), scaled(), unpacked()}};
}

} // namespace origo
