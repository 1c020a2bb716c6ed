#include "passes/Linear.h"

namespace origo {

/// conv(concat(wide(p), x), W, b) → conv(p, columns of W, b) + conv(x, the others), for windows of one element, where
/// wide(p) is one row of channels everywhere: a global feature beside each place of a picture.
static Rule joined() {
  auto p = any(), x = any();
  auto wide = anyOf({Op::RESIZE_BILINEAR, Op::RESIZE_NEAREST_NEIGHBOR, Op::BROADCAST_TO, Op::TILE}, {p}).once();
  auto front = op(Op::CONCATENATION, {wide, x}).once(), back = op(Op::CONCATENATION, {x, wide}).once();
  auto convolution = op(Op::CONV_2D, {front | back}).mayActivate();
  return {"joined", "not a convolution of a broadcast that is joined with a value, each used once", convolution,
          [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(convolution), parts))
              return decline(why);
            Node join = m.op(convolution).operand(0) == m[front] ? m.op(front) : m.op(back);
            Tensor whole = m.op(convolution).operand(0);
            int64_t axis = join.option("axis");
            if (join.operandCount() != 2 || (axis != 3 && axis != -1) || isGrouped(m.op(convolution), parts) ||
                parts.filter.shape()[1] != 1 || parts.filter.shape()[2] != 1)
              return decline("not two operands along the channels, a window of more than one element, or groups");
            bool repeats = m.op(wide).code() == Op::BROADCAST_TO || m.op(wide).code() == Op::TILE;
            for (Tensor t : {m[p], m[wide], m[x]})
              if (repeats ? !t.isStatic() : !t.isStaticButBatch())
                return decline("the shapes are not known before run time");
            if (whole.rank() != 4 || m[p].rank() != 4 || m[p].shape()[1] != 1 || m[p].shape()[2] != 1 ||
                m[p].statedShape()[0] != m[wide].statedShape()[0] || m[p].lastDimension() != m[wide].lastDimension() ||
                m[wide].elementCount() == m[p].elementCount())
              return decline("what is broadcast is not one row of channels for each picture");
            if (!m[p].isFloat() || !m[x].isFloat() || m[x].isConstant() || m[p].isConstant())
              return decline("not float, or constant");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            int32_t channels = m[p].lastDimension(), all = whole.lastDimension();
            bool first = m.has(front) && join.operand(0u) == m[wide];
            auto columns = [&](int32_t begin, int32_t count) {
              Expr size = list({parts.channels, 1, 1, count});
              return fold(op(Op::SLICE, {parts.filter, list({0, 0, 0, begin}), size}));
            };
            Expr small = clone(convolution).operand(0, p).activation(Activation::NONE);
            small = small.filter(columns(first ? 0 : all - channels, channels));
            Expr zeros = fold(broadcastTo(0.0, list({parts.channels})));
            Expr large = clone(convolution).operand(0, x).activation(Activation::NONE).bias(zeros);
            large = large.filter(columns(first ? channels : 0, all - channels));
            return m.replace((large + small).activation(m.root().activation()));
          }};
}

Pass ConvolveBeforeBroadcast() {
  return {
      "convolve-before-broadcast",
      "conv(concat(wide(p), x), W, b) -> conv(p, columns of W, b) + conv(x, the others), for windows of one element",
      Phase::Fuse,
      true,
      {},
      {joined()}};
}

} // namespace origo
