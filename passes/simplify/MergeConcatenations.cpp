#include "passes/Rule.h"

namespace origo {

/// concat(a, concat(b, c)) → concat(a, b, c)
static Rule nested() {
  auto inner = op(Op::CONCATENATION, {}).once();
  auto outer = op(Op::CONCATENATION, {}).mayActivate().each(inner | any());
  return {"nested", "", outer, [=](Match &m) {
            Node root = m.root();
            auto axisOf = [&](Node joined) {
              int64_t axis = joined.option("axis");
              return axis < 0 ? axis + joined.result().rank() : axis;
            };
            std::vector<Expr> parts;
            bool found = false;
            for (unsigned i = 0; i < root.operandCount(); ++i) {
              Tensor joined = m.at(i, inner);
              if (!joined) {
                parts.emplace_back(root.operand(i));
                continue;
              }
              Node within = m.op(i, inner);
              if (axisOf(within) != axisOf(root) || !joined.hasQuantizationOf(root.result()))
                return decline("one is joined along another axis, or stored otherwise");
              for (unsigned k = 0; k < within.operandCount(); ++k)
                parts.emplace_back(within.operand(k));
              found = true;
            }
            if (!found)
              return decline("no operand is a concatenation that is used once");
            if (parts.size() > 64) // or a long chain of them would cost its square
              return decline("more than 64 operands");
            return m.replace(op(Op::CONCATENATION, parts)
                                 .with("axis", root.option("axis"))
                                 .activation(root.activation())
                                 .as(root.result()));
          }};
}

/// reshape(pack(x, y)) → concat(x, y) where the new dimension joins the next one.
static Rule packed() {
  auto joined = op(Op::PACK, {}).once();
  auto flat = anyOf(reshapes, {joined});
  return {"packed", "not the reshape of what is packed and used once", flat, [=](Match &m) {
            Node pack = m.op(joined);
            Tensor x = pack.operand(0u), result = m[flat];
            int64_t axis = pack.option("axis"), rank = x.rank();
            axis += axis < 0 ? rank + 1 : 0;
            if (!x.isStaticButOne() || axis < 0 || axis >= rank || x.statedShape()[axis] < 0 || pack.operandCount() < 2)
              return decline("the shapes are not known before run time, or nothing follows the new dimension");
            llvm::SmallVector<int32_t, 6> expected(x.statedShape());
            expected[axis] *= static_cast<int32_t>(pack.operandCount());
            if (result.statedShape() != llvm::ArrayRef<int32_t>(expected) || !x.isPerTensor() ||
                !x.hasQuantizationOf(result))
              return decline("the new dimension is not joined with the next one");
            std::vector<Expr> parts;
            for (unsigned i = 0; i < pack.operandCount(); ++i)
              parts.emplace_back(pack.operand(i));
            return m.replace(op(Op::CONCATENATION, parts).with("axis", axis));
          }};
}

/// reshape(concat(reshape(x), reshape(y), …)) → concat(reshape(x), reshape(y), …), each shaped as its part of the
/// result, of which it fills whole rows.
static Rule rows() {
  auto x = any();
  auto joined = anyOf({Op::CONCATENATION}).each(op(Op::RESHAPE, {x}).once()).once();
  auto shaped = op(Op::RESHAPE, {joined});
  return {"rows", "not the reshape of joined reshapes that are used once", shaped, [=](Match &m) {
            Node join = m.op(joined);
            Tensor result = m[shaped];
            int64_t axis = join.option("axis");
            axis += axis < 0 ? m[joined].rank() : 0;
            if (!m[joined].isStatic() || !result.isStatic() || axis < 0 || axis >= m[joined].rank() ||
                !m[joined].isPerTensor() || !m[joined].hasQuantizationOf(result) || m[joined].elementCount() == 0)
              return decline("the shapes are not known before run time, or quantised by channel");
            auto product = [](llvm::ArrayRef<int32_t> sizes) {
              int64_t all = 1; // of a tensor that there is
              for (int32_t size : sizes)
                all *= size;
              return all;
            };
            int64_t front = product(m[joined].shape().take_front(axis));
            int place = 0;
            while (place < result.rank() && product(result.shape().take_front(place)) < front)
              ++place;
            while (place < result.rank() && result.shape()[place] == 1)
              ++place;
            if (place == result.rank() || product(result.shape().take_front(place)) != front)
              return decline("the dimension is joined with one in front of it");
            int64_t row = product(result.shape().drop_front(place + 1));
            std::vector<Expr> parts;
            for (unsigned i = 0; i < join.operandCount(); ++i) {
              Tensor part = join.operand(i);
              int64_t count = part.isStatic() ? product(part.shape().drop_front(axis)) : 1;
              if (!part.isStatic() || row < 1 || count % row != 0 || !part.hasQuantizationOf(m.at(i, x)) ||
                  !part.isPerTensor())
                return decline("an operand does not fill whole rows");
              llvm::SmallVector<int32_t, 6> shape(result.shape().begin(), result.shape().end());
              shape[place] = static_cast<int32_t>(count / row);
              parts.push_back(reshape(m.at(i, x), list(shape)));
            }
            return m.replace(op(Op::CONCATENATION, parts).with("axis", place).as(result));
          }};
}

Pass MergeConcatenations() {
  return {"merge-concatenations",
          "concat(a, concat(b, c)) -> concat(a, b, c), reshape(pack(a, b)) -> concat(a, b), reshape(concat(reshape(a), "
          "reshape(b))) -> concat(reshape(a), reshape(b))",
          Phase::Simplify,
          true,
          {},
          {nested(), packed(), rows()}};
}

} // namespace origo
