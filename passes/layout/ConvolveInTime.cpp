#include "passes/Linear.h"
#include "passes/Spelling.h"

namespace origo {

/// The convolution of a batch in front of time, behind movements that brought it there, as one of the picture that has
/// time for its height and the batch for its width, with a window over the height. Says else why it is none.
static const char *turn(Match &m, Tensor x, const Expr &convolution, std::optional<Expr> &made) {
  Linear parts;
  Node old = m.op(convolution);
  if (const char *why = readLinear(old, parts))
    return why;
  Tensor in = old.operand(0), out = m[convolution];
  if (!x.isStatic() || !in.isStatic() || !out.isStatic() || !m.root().result().isStatic() || !in.hasOneUse())
    return "the shapes are not known before run time, or others use what is moved";
  auto isThin = [&](int axis) {
    return in.shape()[axis] == 1 && parts.filter.shape()[axis] == 1 && out.shape()[axis] == 1;
  };
  bool upright = isThin(2);
  if (!upright && !isThin(1))
    return "the window goes over two dimensions";
  int32_t batch = in.shape()[0], time = in.shape()[upright ? 1 : 2];
  int64_t sizes[] = {time, batch, in.lastDimension()};
  unsigned order[] = {1, 0, 2};
  std::optional<Moves> there = m.moves(x, in);
  if (batch < 2 || time < 2 || !there || !(*there == Moves(sizes, order)))
    return "the movements do not exchange a batch with time";
  if (!upright && parts.filter.isShared())
    return "the filter has other users, for whom it would have to stay";
  made = clone(convolution)
             .operand(0, reshape(x, list({1, time, batch, in.lastDimension()})))
             .with("stride_h", old.option(upright ? "stride_h" : "stride_w"))
             .with("dilation_h_factor", old.option(upright ? "dilation_h_factor" : "dilation_w_factor"))
             .with("stride_w", 1)
             .with("dilation_w_factor", 1);
  llvm::SmallVector<int32_t, 4> turned(parts.filter.shape());
  std::swap(turned[1], turned[2]);
  if (!upright)
    made = made->filter(fold(reshape(parts.filter, list(turned))));
  return nullptr;
}

/// back(conv(moved(x))) → reshape(conv(reshape(x), W)) where moved brings a batch in front of time, back puts it behind
/// again, and the window goes over time alone.
static Rule overTime() {
  auto x = any(), moved = movedFrom(x, 1, 3);
  auto convolution = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {moved}).mayActivate().once();
  auto back = movedFrom(convolution, 1, 3);
  return {"time", "no movements around a convolution that is used once", back, [=](Match &m) {
            std::optional<Expr> made;
            if (const char *why = turn(m, m[x], convolution, made))
              return decline(why);
            Tensor out = m[convolution], result = m.root().result();
            int64_t after[] = {out.shape()[0], out.shape()[1] * out.shape()[2], out.lastDimension()};
            unsigned order[] = {1, 0, 2};
            std::optional<Moves> again = m.moves(out, result);
            if (!again || !(*again == Moves(after, order)))
              return decline("the movements do not exchange a batch with time");
            return m.replace(reshape(*made, shapeOf(result)));
          }};
}

/// reshape(conv(moved(x))) → transpose(reshape(conv(reshape(x), W))), where the first leaves out the dimension of
/// pictures that time does not have: the exchange goes on behind.
static Rule beforeExchange() {
  auto x = any(), moved = movedFrom(x, 2, 3);
  auto convolution = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {moved}).mayActivate().once();
  auto shaped = anyOf(reshapes, {convolution});
  return {"before-exchange", "not a reshape of a convolution of what is moved, used once", shaped, [=](Match &m) {
            std::optional<Expr> made;
            if (const char *why = turn(m, m[x], convolution, made))
              return decline(why);
            Tensor out = m[convolution];
            int32_t batch = out.shape()[0], time = out.shape()[1] * out.shape()[2], channels = out.lastDimension();
            if (m[shaped].shape() != llvm::ArrayRef<int32_t>({batch, time, channels}) ||
                channels > m.op(convolution).operand(0).lastDimension())
              return decline("more is reshaped, or there would be more elements to transpose");
            return m.replace(transpose(reshape(*made, list({time, batch, channels})), list({1, 0, 2})));
          }};
}

Pass ConvolveInTime() {
  return {"convolve-in-time",
          "transpose(conv(transpose(x))) -> reshape(conv(reshape(x))), reshape(conv(transpose(x))) -> "
          "transpose(conv(reshape(x))), where a batch was brought in front of time and the window goes over time "
          "alone",
          Phase::Layout,
          true,
          {},
          {overTime(), beforeExchange()}};
}

} // namespace origo
