#include "passes/Rule.h"

namespace origo {

static bool sameFront(Tensor a, Tensor b, size_t back) {
  return a.shape().size() == b.shape().size() && a.shape().drop_back(back) == b.shape().drop_back(back);
}

/// reshape(batch_matmul(reshape(a), reshape(b))) → batch_matmul(a, b) where only dimensions of the batch are joined.
static Rule batch() {
  auto a = any(), b = any();
  auto left = anyOf(reshapes, {a}), right = anyOf(reshapes, {b});
  auto product = op(Op::BATCH_MATMUL, {left, right}).once();
  auto shaped = anyOf(reshapes, {product});
  return {"batch", "not a reshape of the product of two reshapes that is used once", shaped, [=](Match &m) {
            for (Tensor t : {m[a], m[b], m[left], m[right], m[product], m[shaped]})
              if (!t.isFloat() || !t.isStatic() || t.rank() < 2)
                return decline("not float, or the shapes are not known before run time");
            if (m[a].rank() > 4 || !sameFront(m[a], m[b], 2) || !sameFront(m[left], m[right], 2) ||
                !sameFront(m[a], m[shaped], 2))
              return decline("the operands are of another batch, or of more than four dimensions");
            auto sameMatrix = [](Tensor s, Tensor t) { return s.shape().take_back(2) == t.shape().take_back(2); };
            if (!sameMatrix(m[a], m[left]) || !sameMatrix(m[b], m[right]) || !sameMatrix(m[product], m[shaped]))
              return decline("the matrices are reshaped");
            return m.replace(clone(product).operand(0, a).operand(1, b));
          }};
}

/// reshape(fc(reshape(x))) → fc(x) that keeps the dimensions in front
static Rule rows() {
  auto x = any();
  auto flat = anyOf(reshapes, {x});
  auto linear = op(Op::FULLY_CONNECTED, {flat}).once().mayActivate();
  auto shaped = anyOf(reshapes, {linear});
  return {"rows", "not a reshape of a fully connected operator of a reshape, used once", shaped, [=](Match &m) {
            Tensor filter = m.op(linear).operand("filter");
            if (!m[x].isFloat() || !filter.isFloat() || !m[x].isStatic() || !m[shaped].isStatic() || filter.rank() != 2)
              return decline("not float, or the shapes are not known before run time");
            if (m[x].rank() < 2 || m[x].lastDimension() != filter.lastDimension() || !sameFront(m[x], m[shaped], 1) ||
                m[shaped].lastDimension() != filter.shape()[0])
              return decline("the rows of the product are not those of the input");
            return m.replace(clone(linear).operand(0, x).with("keep_num_dims", m[x].rank() != 2));
          }};
}

Pass MergeReshapesIntoProducts() {
  return {"merge-reshapes-into-products",
          "reshape(batch_matmul(reshape(a), reshape(b))) -> batch_matmul(a, b), reshape(fc(reshape(x))) -> fc(x) that "
          "keeps "
          "dimensions",
          Phase::Layout,
          true,
          {},
          {batch(), rows()}};
}

} // namespace origo
