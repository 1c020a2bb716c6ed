#include "passes/Linear.h"
#include "passes/Spelling.h"

namespace origo {

/// back(conv(moved(x))) → reshape(conv(reshape(x), W)) where moved brings a batch in front of time, back puts it behind
/// again, and the window goes over time alone: time is the height then, and the batch the width.
static Rule overTime() {
  auto x = any(), moved = movedFrom(x, 1, 3);
  auto convolution = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {moved}).mayActivate().once();
  auto back = movedFrom(convolution, 1, 3);
  return {"time", "no movements around a convolution that is used once", back, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(convolution), parts))
              return decline(why);
            Tensor in = m.op(convolution).operand(0), out = m[convolution], result = m.root().result();
            if (!m[x].isStatic() || !in.isStatic() || !out.isStatic() || !result.isStatic() || !in.hasOneUse())
              return decline("the shapes are not known before run time, or others use what is moved");
            auto isThin = [&](int axis) {
              return in.shape()[axis] == 1 && parts.filter.shape()[axis] == 1 && out.shape()[axis] == 1;
            };
            bool upright = isThin(2);
            if (!upright && !isThin(1))
              return decline("the window goes over two dimensions");
            int along = upright ? 1 : 2;
            int32_t batch = in.shape()[0];
            int64_t sizes[] = {in.shape()[along], batch, in.lastDimension()};
            int64_t after[] = {batch, out.shape()[along], out.lastDimension()};
            unsigned order[] = {1, 0, 2};
            std::optional<Moves> there = m.moves(m[x], in), again = m.moves(out, result);
            if (batch < 2 || sizes[0] < 2 || !there || !again || !(*there == Moves(sizes, order)) ||
                !(*again == Moves(after, order)))
              return decline("the movements do not exchange a batch with time");
            if (!upright && parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            llvm::SmallVector<int32_t, 4> turned(parts.filter.shape());
            std::swap(turned[1], turned[2]);
            Node old = m.op(convolution);
            Expr picture = reshape(x, list({1, in.shape()[along], batch, in.lastDimension()}));
            Expr made = clone(convolution)
                            .operand(0, picture)
                            .with("stride_h", old.option(upright ? "stride_h" : "stride_w"))
                            .with("dilation_h_factor", old.option(upright ? "dilation_h_factor" : "dilation_w_factor"))
                            .with("stride_w", 1)
                            .with("dilation_w_factor", 1);
            if (!upright)
              made = made.filter(fold(reshape(parts.filter, list(turned))));
            return m.replace(reshape(made, shapeOf(result)));
          }};
}

Pass ConvolveInTime() {
  return {"convolve-in-time",
          "transpose(conv(transpose(x))) -> reshape(conv(reshape(x))), where a batch was brought in front of time and "
          "the window goes over time alone",
          Phase::Layout,
          true,
          {},
          {overTime()}};
}

} // namespace origo
