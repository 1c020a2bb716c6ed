#include "passes/Spelling.h"

namespace origo {

static Rule positive() {
  auto x = any();
  auto twice = x + op(Op::ABS, {x});
  auto pattern = maximum(x, 0.0) | byTheSignOf(x, x, 0.0 | op(Op::ZEROS_LIKE, {x})) | halfOf(twice) |
                 (halfOf(x) + halfOf(op(Op::ABS, {x}))) | x * cast(isPositive(x)) | negated(minimum(negated(x), 0.0));
  return Rule{"relu", "not the greater of a value and zero", pattern,
              [=](Match &m) { return m[x].isFloat() ? m.replace(relu(x)) : decline("not float"); }}
      .assumes("no number is NaN, and no sum of two overflows");
}

static Rule betweenOnes() {
  auto x = any();
  return Rule{"relu-n1-to-1", "not a value bounded by -1 and 1", clamped(x, -1, 1),
              [=](Match &m) { return m[x].isFloat() ? m.replace(op(Op::RELU_N1_TO_1, {x})) : decline("not float"); }}
      .assumes("no number is NaN");
}

/// x > c ? x : c → max(x, c), and min likewise, of integers.
static Rule bySelecting(llvm::StringLiteral name, Op code, Op above, Op atLeast, Op below, Op atMost) {
  auto x = any(), c = any();
  auto greater = compared({above, atLeast}, x, c) | compared({below, atMost}, c, x);
  auto bounded = chosen(greater, x, c);
  return {name, "not the one of two values that is compared", bounded, [=](Match &m) {
            if (m[x].isFloat() || m[x].isQuantized())
              return decline("which bound NaN becomes depends on the spelling");
            return m.replace(op(code, {x, c}));
          }};
}

Pass RecogniseRelu() {
  return Pass{"recognise-relu",
              "max(x, 0), x > 0 ? x : 0, (x + |x|) / 2, x * cast(x > 0) -> relu(x), min(max(x, -1), 1) -> "
              "relu_n1_to_1(x), x > c ? x : "
              "c -> max(x, c) for integers",
              Phase::Recognise,
              true,
              {},
              {positive(), betweenOnes(),
               bySelecting("maximum", Op::MAXIMUM, Op::GREATER, Op::GREATER_EQUAL, Op::LESS, Op::LESS_EQUAL),
               bySelecting("minimum", Op::MINIMUM, Op::LESS, Op::LESS_EQUAL, Op::GREATER, Op::GREATER_EQUAL)}}
      .about("NaN stays NaN, where a minimum or a maximum would make a bound of it.");
}

} // namespace origo
