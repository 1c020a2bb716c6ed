#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// A product that over- or underflows where its factors did not would lose what the two steps keep.
static bool keepsProduct(float weight, float scale, float product) {
  return std::isfinite(weight) && std::isnormal(scale) && (weight == 0 || std::isnormal(product));
}

/// Why a constant on the way into a linear operator cannot go into it; `x` and `entry`: before and after the constant.
static const char *entryRefusal(Match &m, Node linear, Tensor x, Tensor entry, Tensor c, Linear &parts) {
  if (const char *why = readLinear(linear, parts))
    return why;
  if (parts.filter.isShared())
    return "the filter has other users, for whom it would have to stay";
  if (!x.isFloat() || !x.hasShapeOf(entry) || !isPerChannel(c, entry, entry.lastDimension()))
    return "the constant is not one number an input channel";
  // A fully connected operator may take several rows as one.
  bool perChannel = c.elementCount() != 1;
  return perChannel && parts.filter.lastDimension() != entry.lastDimension() ? "the filter has other channels"
                                                                             : nullptr;
}

static Expr alongLast(Tensor c) { return c.elementCount() == 1 ? reshape(c, list({1})) : listed(c); }

/// linear(x · c, W, b) → linear(x, W · c, b)
static Rule scale(llvm::StringLiteral name, Expr x, Expr c, Expr scaled, Expr linear) {
  return {name, "not a linear operator of a constant multiple", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = entryRefusal(m, m.op(linear), m[x], m[scaled], m[c], parts))
              return decline(why);
            Expr filter = parts.filter * alongLast(m[c]);
            if (!m.everyOf(filter, keepsProduct))
              return decline("the constant, or a scaled weight, is not finite or not normal");
            return m.replace(clone(linear).operand(m.positionOf(scaled), x).filter(fold(filter)));
          }};
}

/// linear(move(x · c), W, b) → linear(move(x), W · c, b) for one number c, which is the same wherever elements are
/// moved.
static Rule scaleMoved() {
  auto x = any(), c = constant();
  auto scaled = (x * c).once();
  auto moved = anyWith(Trait::DataMovement, {scaled}).once();
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {moved}).mayActivate();
  return {"product-moved", "not a linear operator of what is moved of a constant multiple", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            if (m[c].elementCount() != 1 || !m[x].isFloat() || !m[x].hasShapeOf(m[scaled]))
              return decline("the constant is not one number");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            Expr filter = parts.filter * alongLast(m[c]);
            if (!m.everyOf(filter, keepsProduct))
              return decline("the constant, or a scaled weight, is not finite or not normal");
            return m.replace(clone(linear).operand(0, clone(moved).operand(0, x)).filter(fold(filter)));
          }};
}

/// linear(x + c, W, b) → linear(x, W, b + linear(c, W)), where nothing is padded.
static Rule shift() {
  auto x = any(), c = constant();
  auto shifted = (x + c).once();
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {shifted}).mayActivate();
  return {"sum", "not a linear operator of a sum with a constant that is used once", linear, [=](Match &m) {
            Linear parts;
            Node at = m.op(linear);
            if (const char *why = entryRefusal(m, at, m[x], m[shifted], m[c], parts))
              return decline(why);
            if (!m.every(m[c], [](double n) { return std::isfinite(n); }))
              return decline("the constant is not finite");
            bool convolves = at.code() != Op::FULLY_CONNECTED;
            if (convolves && at.option("padding") != static_cast<int64_t>(circle::Padding::VALID))
              return decline("what is padded is not shifted");
            // One window full of the constant.
            llvm::SmallVector<int32_t, 4> window{1, m[x].lastDimension()};
            if (convolves) {
              auto reach = [&](int axis, llvm::StringRef dilation) {
                return static_cast<int32_t>((parts.filter.shape()[axis] - 1) * at.option(dilation) + 1);
              };
              window = {1, reach(1, "dilation_h_factor"), reach(2, "dilation_w_factor"), m[x].lastDimension()};
            } else if (parts.filter.lastDimension() != m[x].lastDimension()) {
              return decline("the rows of the filter are not those of the operand");
            }
            Expr full = broadcastTo(alongLast(m[c]), list(window));
            Expr bias = reshape(clone(linear).operand(0, full).activation(Activation::NONE), list({parts.channels}));
            if (!m.everyOf(bias * 1, [](float, float, float result) { return std::isfinite(result); }))
              return decline("a fused bias is not representable");
            return m.replace(clone(linear).operand(0, x).bias(fold(bias)));
          }};
}

/// fc(move(x + c), W, b) → fc(move(x), W, b + fc(move(c), W)), where all elements make one row.
static Rule shiftMoved() {
  auto x = any(), c = constant();
  auto shifted = (x + c).once();
  auto moved = anyOf({Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS, Op::TRANSPOSE}, {shifted}).once();
  auto linear = op(Op::FULLY_CONNECTED, {moved}).mayActivate();
  return {"sum-moved", "not a fully connected operator of what is moved of a sum with a constant", linear,
          [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            if (!m[x].isFloat() || !m[x].isStatic() || !m[x].hasShapeOf(m[shifted]) || m[c].rank() > m[x].rank() ||
                m[x].elementCount() != static_cast<uint64_t>(parts.filter.lastDimension()))
              return decline("broadcast, or more than one row, or not known before run time");
            if (!m.every(m[c], [](double n) { return std::isfinite(n); }))
              return decline("the constant is not finite");
            Expr full = clone(moved).operand(0, broadcastTo(c, shapeOf(m[x])));
            Expr bias = reshape(clone(linear).operand(0, full).activation(Activation::NONE), list({parts.channels}));
            if (!m.everyOf(bias * 1, [](float, float, float result) { return std::isfinite(result); }))
              return decline("a fused bias is not representable");
            return m.replace(clone(linear).operand(0, clone(moved).operand(0, x)).bias(fold(bias)));
          }};
}

/// linear(−x, W, b) → linear(x, −W, b)
static Rule opposite() {
  auto x = any();
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {-x}).mayActivate();
  return {"opposite", "not a linear operator of an opposite", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            return parts.filter.isShared() ? decline("the filter has other users, for whom it would have to stay")
                                           : m.replace(clone(linear).operand(0, x).filter(fold(-parts.filter)));
          }};
}

/// linear(x / c, W, b) → linear(x, W / c, b)
static Rule share() {
  auto x = any(), c = constant();
  auto divided = x / c;
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {divided}).mayActivate();
  return {"quotient", "not a linear operator of a quotient by a constant", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = entryRefusal(m, m.op(linear), m[x], m[divided], m[c], parts))
              return decline(why);
            Expr filter = parts.filter / alongLast(m[c]);
            if (!m.everyOf(filter, keepsProduct))
              return decline("the constant, or a scaled weight, is not finite or not normal");
            return m.replace(clone(linear).operand(0, x).filter(fold(filter)));
          }};
}

/// conv(x · a + b, W) → conv(x + b/a, W · a), where zeros are padded, which are none of x
static Rule affine() {
  auto x = any(), a = constant(), b = constant();
  auto scaled = (x * a).once(), shifted = (scaled + b).once();
  auto linear = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {shifted}).mayActivate();
  return {"affine", "not a convolution of a multiple and a sum with constants, each used once", linear, [=](Match &m) {
            Linear parts;
            const char *why = entryRefusal(m, m.op(linear), m[x], m[scaled], m[a], parts);
            if (!why)
              why = entryRefusal(m, m.op(linear), m[scaled], m[shifted], m[b], parts);
            if (why)
              return decline(why);
            auto isSound = [](float b, float a, float ratio) {
              return std::isnormal(a) && std::isfinite(ratio) && std::isfinite(b);
            };
            Expr filter = parts.filter * alongLast(m[a]), offset = alongLast(m[b]) / alongLast(m[a]);
            if (!m.everyOf(filter, keepsProduct) || !m.everyOf(offset, isSound))
              return decline("the constants, or what they make, are not finite or not normal");
            return m.replace(clone(linear).operand(0, x + fold(offset)).filter(fold(filter)));
          }};
}

Pass FuseFromInFront() {
  auto x = any(), c = constant();
  auto scaled = x * c; // others that use it are no worse off
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {scaled}).mayActivate();
  auto transposed = op(Op::TRANSPOSE_CONV, {any(), any(), scaled}).mayActivate();
  return {
      "fuse-from-in-front",
      "linear(x * c, W, b) -> linear(x, W*c, b), linear(x + c, W, b) -> linear(x, W, b + linear(c, W)), linear(x / c, "
      "W, b) -> linear(x, W/c, b), linear(-x, W, b) -> linear(x, -W, b), conv(x*a + c, W) -> conv(x + c/a, W*a) "
      "where zeros are padded; also where what is multiplied by a number, or one row that a constant is added to, is "
      "moved",
      Phase::Fuse,
      true,
      {{"fuse_preactivation_batchnorm", {{Op::CONV_2D, Op::MUL}, {Op::DEPTHWISE_CONV_2D, Op::MUL}}},
       {"fuse_mul_to_fullyconnected_weights", {{Op::FULLY_CONNECTED, Op::MUL}}},
       {"fuse_add_to_fullyconnected_bias", {{Op::FULLY_CONNECTED, Op::ADD}}}},
      {scale("product", x, c, scaled, linear), scale("product-transposed", x, c, scaled, transposed), scaleMoved(),
       share(), shift(), shiftMoved(), affine(), opposite()}};
}

} // namespace origo
