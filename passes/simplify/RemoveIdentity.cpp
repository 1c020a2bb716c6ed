#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// x + 0 → x, x − 0 → x, x · 1 → x, x / 1 → x
static Rule neutralArithmetic() {
  auto x = any(), c = constant();
  auto sum = anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {x, c});
  return {"neutral-arithmetic", "no constant operand, or an activation is fused", sum, [=](Match &m) {
            bool shifts = m.root().code() == Op::ADD || m.root().code() == Op::SUB;
            bool quantised = m[c].isQuantized();
            if (quantised && !(shifts && m.isStoredZero(m[c], m[x])))
              return decline("quantised");
            if (!quantised && !(shifts ? m.every(m[c], [](double n) { return n == 0; })
                                       : m.every(m[c], [](double n) { return n == 1; })))
              return decline("the constant is not the neutral element");
            bool one = m[c].elementCount() == 1 && m[c].rank() <= m[x].rank(); // whatever the dimensions of x
            if (!one && (!m[x].isStatic() || !m.root().result().isStatic()))
              return decline("the broadcast is not known before run time");
            return m.replace(x);
          }};
}

/// x + (q − x) → q: how gradients are led past a rounding while a network is trained.
static Rule straightThrough() {
  auto x = any(), q = any();
  auto sum = x + (q - x).once();
  return {"straight-through", "not a tensor and its difference from another one", sum, [=](Match &m) {
            if (!m[q].isFloat() || m[q].isConstant() || m[x].isConstant() || !m[q].hasShapeOf(m[sum]))
              return decline("not float, a constant that may be folded instead, or broadcast");
            return m.replace(q);
          }};
}

/// reshape, slice, transpose, pad, … that keep a static shape and the order of the elements keep the value.
static Rule sameShape() {
  auto x = any();
  auto moved = anyOf({Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS, Op::SLICE, Op::PAD, Op::PADV2, Op::MIRROR_PAD,
                      Op::TILE, Op::BROADCAST_TO, Op::CONCATENATION, Op::STRIDED_SLICE, Op::TRANSPOSE,
                      Op::RESIZE_BILINEAR, Op::RESIZE_NEAREST_NEIGHBOR},
                     {x});
  return {"same-shape", "has a fused activation", moved, [=](Match &m) {
            Tensor result = m.root().result();
            if (m.root().resultCount() != 1 || !m[x].isStatic() || !result.isStatic() || !m[x].hasShapeOf(result))
              return decline("changes the shape, or it is not known before run time");
            if (m.root().code() == Op::CONCATENATION && m.root().operandCount() != 1)
              return decline("joins several tensors");
            if (!m.keepsOrder())
              return decline("moves elements, or what tells is not constant");
            return m.replace(x);
          }};
}

/// reshape(x), transpose(x), resize(x) → x where both have the same shape, with one dimension that is not known before
/// run time.
static Rule sameOpenShape() {
  auto x = any();
  auto shaped =
      anyOf({Op::RESHAPE, Op::TRANSPOSE, Op::RESIZE_BILINEAR, Op::RESIZE_NEAREST_NEIGHBOR}, {x, optionalConstant()});
  return {"same-open-shape", "the shape is computed", shaped, [=](Match &m) {
            auto from = m[x].statedShape();
            if (m[x].isStatic() || from != m[shaped].statedShape() || llvm::count(from, -1) != 1)
              return decline("not of one shape with one dimension that is not known before run time");
            if (!m.keepsOrder())
              return decline("moves elements");
            return m[x].isLike(m[shaped]) ? m.replace(x) : decline("changes the quantisation");
          }};
}

/// A strided slice that begins and ends where x does, in each dimension, whatever its size.
static Rule wholeSlice() {
  auto x = any(), begin = constant(), end = constant(), strides = constant();
  auto sliced = op(Op::STRIDED_SLICE, {x, begin, end, strides});
  return {"whole-slice", "the positions are not constant", sliced, [=](Match &m) {
            std::optional<Integers> steps = m.integers(m[strides]);
            int64_t all = (int64_t{1} << m[x].rank()) - 1;
            bool masked =
                (m.op(sliced).option("begin_mask") & all) == all && (m.op(sliced).option("end_mask") & all) == all;
            for (llvm::StringRef mask : {"ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
              masked &= m.op(sliced).option(mask) == 0;
            if (!masked || !steps || m[x].rank() == 0 || !steps->areAll(1) || !m.integers(m[begin]) ||
                !m.integers(m[end]) || !m[x].hasQuantizationOf(m[sliced]))
              return decline("takes a part, or in another order");
            return m.replace(x);
          }};
}

/// cast(x) → x where the types are equal.
static Rule sameType() {
  auto x = any();
  return {"cast", "", cast(x),
          [=](Match &m) { return m[x].hasTypeOf(m.root().result()) ? m.replace(x) : decline("changes the type"); }};
}

/// cast(cast(x)) → cast(x) where the type in between has every value of x.
static Rule widenedBefore() {
  auto x = any();
  return {"cast-of-cast", "not a cast of what is cast", cast(cast(x)), [=](Match &m) {
            TensorType from = m[x].type(), between = m.root().operand(0).type();
            bool wide = between == TensorType::INT64 || between == TensorType::INT32;
            bool kept = from == TensorType::BOOL ? wide || between == TensorType::FLOAT32
                                                 : from == TensorType::INT32 && between == TensorType::INT64;
            if (!kept || m[x].isQuantized() || m.root().operand(0).isQuantized())
              return decline("the type in between has not every value");
            return m.replace(cloneRoot().operand(0, x));
          }};
}

/// split into one part → its operand.
static Rule onePart() {
  auto x = any();
  return {"split", "", anyOf({Op::SPLIT}, {any(), x}) | anyOf({Op::SPLIT_V}, {x}),
          [=](Match &m) { return m.root().resultCount() == 1 ? m.replace(x) : decline("has several parts"); }};
}

/// relu(x) → x where x is clamped already, and |x| → x where x is not negative.
static Rule clampedBefore() {
  auto x = any();
  return {"clamped", "", relu(x) | relu6(x) | op(Op::RELU_N1_TO_1, {x}) | op(Op::ABS, {x}), [=](Match &m) {
            Op code = m.root().code();
            Range known = m.range(m[x]);
            double low = code == Op::RELU_N1_TO_1 ? -1 : 0;
            bool above = code == Op::RELU6 ? known.high <= 6 : code == Op::RELU_N1_TO_1 ? known.high <= 1 : true;
            return known.low >= low && above ? m.replace(x) : decline("what is clamped may lie outside");
          }};
}

/// max(x, −∞), max(x, 0) of x ≥ 0, min(x, ∞) → x
static Rule boundedBefore() {
  auto x = any(), c = constant();
  auto greater = maximum(x, c), lesser = minimum(x, c);
  return {"bounded", "not bounded by a constant", greater | lesser, [=](Match &m) {
            if (!m[x].isFloat() || m[c].elementCount() != 1 || m[c].rank() > m[x].rank())
              return decline("not float, or not one number");
            bool inside = m.has(greater)
                              ? m.every(m[c], [](double n) { return n == -HUGE_VAL; }) ||
                                    (m.range(m[x]).low >= 0 && m.every(m[c], [](double n) { return n <= 0; }))
                              : m.every(m[c], [](double n) { return n == HUGE_VAL; });
            return inside ? m.replace(x) : decline("what is bounded may lie outside");
          }};
}

/// relu6(relu(x)), relu(max(x, −2)), relu6(min(x, 9)), … → without the inner bound, which the outer one has
static Rule boundedBehind() {
  auto x = any(), c = constant();
  auto rectified = relu(x), above = maximum(x, c), inner = rectified | above | minimum(x, c);
  auto outer = relu(inner) | relu6(inner) | op(Op::RELU_N1_TO_1, {inner});
  return {"bounded-behind", "not a bound of what is bounded", outer, [=](Match &m) {
            bool ones = m.root().code() == Op::RELU_N1_TO_1;
            if (!m[x].isFloat() || (m.has(rectified) && ones))
              return decline("not float, or bounded by zero in front");
            if (m.has(rectified))
              return m.replace(cloneRoot().operand(0, x));
            bool one = m[c].elementCount() == 1 && m[c].rank() <= m[x].rank();
            bool wider = m.has(above)                   ? ones ? m.every(m[c], [](double n) { return n <= -1; })
                                                               : m.every(m[c], [](double n) { return n <= 0; })
                                           : m.root().code() == Op::RELU6 ? m.every(m[c], [](double n) { return n >= 6; })
                                                        : ones && m.every(m[c], [](double n) { return n >= 1; });
            return one && wider ? m.replace(cloneRoot().operand(0, x)) : decline("the inner bound is the nearer one");
          }};
}

Pass RemoveIdentity() {
  return {"remove-identity",
          "an operator whose result is its operand: x+0, x*1, cast to the same type or through a wider one, reshape to "
          "the same shape, a "
          "bound before a nearer one, …",
          Phase::Simplify,
          true,
          {{"remove_unnecessary_add", {{Op::ADD, {}}}},
           {"remove_unnecessary_cast", {{Op::CAST, {}}}},
           {"remove_unnecessary_div", {{Op::DIV, {}}}},
           {"remove_unnecessary_mul", {{Op::MUL, {}}}},
           {"remove_unnecessary_reshape", {{Op::RESHAPE, {}}}},
           {"remove_unnecessary_slice", {{Op::SLICE, {}}}},
           {"remove_unnecessary_split", {{Op::SPLIT, {}}, {Op::SPLIT_V, {}}}},
           {"remove_unnecessary_strided_slice", {{Op::STRIDED_SLICE, {}}}},
           {"remove_unnecessary_transpose", {{Op::TRANSPOSE, {}}}}},
          {neutralArithmetic(), straightThrough(), sameShape(), sameOpenShape(), wholeSlice(), sameType(),
           widenedBefore(), onePart(), clampedBefore(), boundedBefore(), boundedBehind()}};
}

} // namespace origo
