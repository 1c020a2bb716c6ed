#include "passes/Spelling.h"

namespace origo {

/// x · relu6(x + 3) / 6, and x · clamp(x/6 + ½, 0, 1) → hard_swish(x)
static Rule swish() {
  const Quotient sixth{1, 6};
  auto x = any();
  auto gate = clampedTo6(plus(x, 3));
  auto unit = clamped(plus(times(x, sixth), 0.5) | times(plus(x, 3), sixth), 0, 1);
  auto pattern = x * gate * about(sixth) | (x * gate) / 6 | x * (gate / 6) | gate * (x / 6) | x * unit;
  return Rule{"hard-swish", "not x · relu6(x + 3) / 6", pattern,
              [=](Match &m) { return m[x].isFloat() ? m.replace(hardSwish(x)) : decline("not float"); }}
      .assumes("0.16666667 is a sixth; no number is NaN");
}

/// clamp(x·a + b, 0, 1) → relu6(x·6a + 6b) / 6: a RELU6 is fused, two bounds are not.
static Rule sigmoid() {
  auto x = any(), a = constant(), b = constant();
  auto scaled = x * a, shifted = (scaled + b).once();
  return Rule{"hard-sigmoid", "not a·x + b bounded by 0 and 1", clamped(shifted, 0, 1),
              [=](Match &m) {
                bool numbers = m[a].elementCount() == 1 && m[b].elementCount() == 1; // whatever the dimensions of x
                if (!m[x].isFloat() || (!numbers && !m.root().result().isStatic()))
                  return decline("not float, or the shape is not known before run time");
                Expr slope = a * 6.0, offset = b * 6.0;
                auto isSound = [](float c, float, float product) { return std::isfinite(product) && std::isnormal(c); };
                if (!m.everyOf(slope, isSound) || !m.everyOf(offset, isSound))
                  return decline("a number is zero, or too big or too small to be multiplied by six");
                unsigned xAt = m.op(scaled).operand(0) == m[x] ? 0 : 1,
                         scaledAt = m.op(shifted).operand(0) == m[scaled] ? 0 : 1;
                bool sixth = m.isEvery(m[a], Quotient{1, 6});
                Expr within = sixth ? Expr(x) : clone(scaled).operand(xAt, x).operand(1 - xAt, fold(slope));
                within = clone(shifted).operand(scaledAt, within).operand(1 - scaledAt, fold(offset));
                return m.replace(relu6(within) * fold(1.0 / Expr(6.0))); // rounded when it is written
              }}
      .assumes("0.16666667 is a sixth; no number is NaN");
}

/// clamp((x + b) · a, 0, 1) → relu6((x + b) · 6a) / 6
static Rule sigmoidOfSum() {
  auto x = any(), a = constant(), b = constant();
  auto shifted = x + b, product = (shifted * a).once(), quotient = (shifted / a).once();
  return Rule{"hard-sigmoid-sum", "not a·(x + b) bounded by 0 and 1", clamped(product | quotient, 0, 1),
              [=](Match &m) {
                bool numbers = m[a].elementCount() == 1 && m[b].elementCount() == 1;
                if (!m[x].isFloat() || (!numbers && !m.root().result().isStatic()))
                  return decline("not float, or the shape is not known before run time");
                bool divides = m.has(quotient);
                Expr slope = divides ? a / 6.0 : a * 6.0, scaled = divides ? quotient : product;
                auto isSound = [](float c, float, float product) { return std::isnormal(c) && std::isnormal(product); };
                if (!m.everyOf(slope, isSound))
                  return decline("a number is zero, or too big or too small to be multiplied by six");
                bool sixth = m.isEvery(m[a], divides ? Quotient{6, 1} : Quotient{1, 6});
                unsigned at = m.op(scaled).operand(0) == m[shifted] ? 0 : 1;
                Expr within = sixth ? Expr(shifted) : clone(scaled).operand(1 - at, fold(slope));
                return m.replace(relu6(within) * fold(1.0 / Expr(6.0)));
              }}
      .assumes("0.16666667 is a sixth; no number is NaN");
}

Pass RecogniseHardSwish() {
  return Pass{"recognise-hard-swish",
              "x * relu6(x + 3) / 6, x * min(max(x/6 + 0.5, 0), 1) -> hard_swish(x), "
              "min(max(a*x + b, 0), 1) -> relu6(6a*x + 6b) / 6, min(max(a*(x + b), 0), 1) -> relu6(6a*(x + b)) / 6",
              Phase::Recognise,
              true,
              {},
              {swish(), sigmoid(), sigmoidOfSum()}}
      .about(
          "A sixth is no float: factors of 0.16666667 count as one. NaN stays NaN, where a minimum or a maximum would "
          "make a bound of it.");
}

} // namespace origo
