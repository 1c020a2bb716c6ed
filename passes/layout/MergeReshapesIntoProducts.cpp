#include "passes/Linear.h"

namespace origo {

static bool sameFront(Tensor a, Tensor b, size_t back) {
  auto one = a.statedShape(), other = b.statedShape();
  return one.size() == other.size() && one.drop_back(back) == other.drop_back(back);
}

/// reshape(batch_matmul(reshape(a), reshape(b))) → batch_matmul(a, b) where only dimensions of the batch are joined.
static Rule batch() {
  auto a = any(), b = any();
  auto left = anyOf(reshapes, {a}), right = anyOf(reshapes, {b});
  auto product = op(Op::BATCH_MATMUL, {left, right}).once();
  auto shaped = anyOf(reshapes, {product});
  return {"batch", "not a reshape of the product of two reshapes that is used once", shaped, [=](Match &m) {
            for (Tensor t : {m[a], m[b], m[left], m[right], m[product], m[shaped]})
              if (!t.isFloat() || !t.isStaticButOne() || t.rank() < 2)
                return decline("not float, or the shapes are not known before run time");
            if (m[a].rank() > 4 || !sameFront(m[a], m[b], 2) || !sameFront(m[left], m[right], 2) ||
                !sameFront(m[a], m[shaped], 2))
              return decline("the operands are of another batch, or of more than four dimensions");
            auto sameMatrix = [](Tensor s, Tensor t) {
              return s.statedShape().take_back(2) == t.statedShape().take_back(2);
            };
            if (!sameMatrix(m[a], m[left]) || !sameMatrix(m[b], m[right]) || !sameMatrix(m[product], m[shaped]))
              return decline("the matrices are reshaped");
            return m.replace(clone(product).operand(0, a).operand(1, b));
          }};
}

/// reshape(fc(reshape(x))) and reshape(fc(x)) → fc(x) that keeps the dimensions in front, or makes one of them
static Rule rows() {
  auto x = any();
  auto flat = anyOf(reshapes, {x});
  auto linear = op(Op::FULLY_CONNECTED, {flat | x}).once().mayActivate();
  auto shaped = anyOf(reshapes, {linear});
  return {"rows", "not a reshape of a fully connected operator that is used once", shaped, [=](Match &m) {
            Tensor filter = m.op(linear).operand("filter");
            if (!m[x].isFloat() || !filter.isFloat() || !m[x].isStaticButOne() || !m[shaped].isStaticButOne() ||
                filter.rank() != 2)
              return decline("not float, or the shapes are not known before run time");
            bool keeps = sameFront(m[x], m[shaped], 1), joins = m[shaped].rank() == 2;
            if (m[x].rank() < 2 || m[x].statedShape().back() != filter.lastDimension() || !(keeps || joins) ||
                m[shaped].lastDimension() != filter.shape()[0])
              return decline("the rows of the product are not those of the input");
            return m.replace(clone(linear).operand(0, x).with("keep_num_dims", keeps && !joins));
          }};
}

/// reshape(fc(reshape(x))) → reshape(fc(x)), both of which keep the dimensions in front of the last one
static Rule between() {
  auto x = any();
  auto flat = anyOf(reshapes, {x}).once(); // else what it does would be done behind each of its users
  auto linear = op(Op::FULLY_CONNECTED, {flat}).with("keep_num_dims", 1).once().mayActivate();
  auto shaped = op(Op::RESHAPE, {linear});
  return {"between", "no fully connected operator between two reshapes, each used once", shaped, [=](Match &m) {
            Tensor filter = m.op(linear).operand("filter");
            if (!m[x].isFloat() || !filter.isFloat() || !m[x].isStaticButOne() || !m[shaped].isStaticButOne() ||
                filter.rank() != 2)
              return decline("not float, or the shapes are not known before run time");
            if (m[x].rank() < 2 || m[x].statedShape().back() != filter.lastDimension())
              return decline("the rows of the input change");
            return m.replace(clone(shaped).operand(0, clone(linear).operand(0, x)));
          }};
}

/// fc(reshape(x)) → fc(x), which joins the dimensions in front of the last one itself
static Rule flattened() {
  auto x = any();
  auto flat = anyOf(reshapes, {x}); // others that use it are no worse off
  auto linear = op(Op::FULLY_CONNECTED, {flat}).mayActivate();
  return {"flattened", "not a fully connected operator of a reshape", linear, [=](Match &m) {
            Tensor filter = m.op(linear).operand("filter");
            if (!m[x].isFloat() || !filter.isFloat() || !m[x].isStaticButOne() || !m[linear].isStaticButOne() ||
                filter.rank() != 2)
              return decline("not float, or the shapes are not known before run time");
            if (m[x].rank() < 2 || m[x].statedShape().back() != filter.lastDimension() || m[linear].rank() != 2)
              return decline("the rows of the input change, or the product has more dimensions");
            return m.replace(clone(linear).operand(0, x).with("keep_num_dims", 0));
          }};
}

/// reshape(conv(reshape(x))) and reshape(conv(x)) → fc(x), where the window is one element: a convolution in time, of
/// each moment alone, or of a picture of one pixel
static Rule pointwise() {
  auto x = any();
  auto linear = op(Op::CONV_2D, {anyOf(reshapes, {x}) | x}).once().mayActivate();
  auto shaped = anyOf(reshapes, {linear});
  return {"pointwise", "not a reshape of a convolution that is used once", shaped, [=](Match &m) {
            Linear parts;
            Node at = m.op(linear);
            if (const char *why = readLinear(at, parts))
              return decline(why);
            auto window = parts.filter.shape().slice(1, 2);
            if (window != llvm::ArrayRef<int32_t>({1, 1}) || at.option("stride_w") != 1 || at.option("stride_h") != 1)
              return decline("the window has more elements than one, or skips some");
            bool keeps = sameFront(m[x], m[shaped], 1), joins = m[shaped].rank() == 2;
            joins =
                joins && (keeps || m[shaped].elementCount() == static_cast<uint64_t>(parts.channels)); // else a picture
            if (!m[x].isStaticButOne() || !m[shaped].isStaticButOne() || m[x].rank() < 2 || isGrouped(at, parts) ||
                parts.filter.isShared() || m[x].statedShape().back() != parts.filter.lastDimension() ||
                m[shaped].lastDimension() != parts.channels || !(keeps || joins))
              return decline("the channels are grouped or joined, or the filter would have to stay for other users");
            Expr matrix = fold(reshape(parts.filter, list({parts.channels, parts.filter.lastDimension()})));
            Expr product = op(Op::FULLY_CONNECTED, {x, matrix, parts.bias ? Expr(parts.bias) : Expr(Tensor())});
            return m.replace(product.with("keep_num_dims", keeps && !joins).activation(at.activation()));
          }};
}

Pass MergeReshapesIntoProducts() {
  return {"merge-reshapes-into-products",
          "reshape(batch_matmul(reshape(a), reshape(b))) -> batch_matmul(a, b), reshape(fc(reshape(x))) -> fc(x) that "
          "keeps dimensions, or reshape(fc(x)), fc(reshape(x)) -> fc(x), reshape(conv(reshape(x), W)), reshape(conv(x, "
          "W)) -> fc(x, W) for "
          "windows of one "
          "element",
          Phase::Layout,
          true,
          {},
          {batch(), rows(), between(), flattened(), pointwise()}};
}

} // namespace origo
