#include "passes/Spelling.h"

namespace origo {

/// Why the root cannot be a PRELU of x with this slope.
static const char *slopeRefusal(Match &m, Tensor x, Tensor slope) {
  if (!x.isFloat() || !slope.isFloat() || slope.rank() > x.rank() || !m.root().result().hasShapeOf(x))
    return "not float, or the slope has more dimensions";
  // Infinity times the zero of a positive x is not a number, which PRELU does not compute.
  return m.every(slope, isFiniteNumber) ? nullptr : "the slope is not finite";
}

/// relu(x) + c · below(x), where below is a multiple of the negative part → prelu(x, c times that).
static Rule ofTwoParts() {
  auto x = any(), c = constant();
  auto magnitude = op(Op::ABS, {x});
  auto twice = x - magnitude, twiceNegated = magnitude - x; // the half and the slope may be one constant already
  auto halved = 0.5 * c * twice;
  auto least = minimum(x, 0.0), most = relu(negated(x)), mostToo = maximum(negated(x), 0.0);
  auto opposite = most | mostToo;
  auto back = -opposite, backToo = 0.0 - opposite;
  auto rest = x - positiveOf(x);
  auto part = c * (twice | twiceNegated | least | rest | opposite | back | backToo);
  auto difference = positiveOf(x) - part;
  auto pattern = (positiveOf(x) + (halved | part)) | difference;
  return {"slope", "not relu(x) + α times the negative part", pattern, [=](Match &m) {
            if (const char *why = slopeRefusal(m, m[x], m[c]))
              return decline(why);
            bool turned = m.has(most) || m.has(mostToo) || (m.has(twiceNegated) && !m.has(halved));
            bool turnsBack = m.has(difference) != (m.has(back) || m.has(backToo));
            double factor = m.has(magnitude) && !m.has(halved) ? 2 : 1;
            factor = turned != turnsBack ? -factor : factor;
            Expr slope = c * factor;
            if (factor == 1)
              return m.replace(op(Op::PRELU, {x, c}));
            if (!m.everyOf(slope, [](float, float, float s) { return std::isfinite(s); }))
              return decline("the doubled slope is not finite");
            return m.replace(op(Op::PRELU, {x, fold(slope)}));
          }};
}

/// relu(x) − relu(c · x) with c ≤ 0, and relu(x) + min(c · x, 0) with c ≥ 0, whose multiple went into what is bounded
static Rule ofScaledPart() {
  auto x = any(), c = constant();
  auto less = positiveOf(x) - positiveOf(x * c), more = positiveOf(x) + minimum(x * c, 0.0);
  return {"scaled-part", "not relu(x) and the bounded part of a multiple", less | more, [=](Match &m) {
            if (const char *why = slopeRefusal(m, m[x], m[c]))
              return decline(why);
            if (!(m.has(more) ? m.every(m[c], [](double n) { return n >= 0; })
                              : m.every(m[c], [](double n) { return n <= 0; })))
              return decline("the multiple is bounded on the side of x");
            return m.replace(op(Op::PRELU, {x, m.has(more) ? Expr(c) : fold(-c)}));
          }};
}

/// a · x + b · |x| with a + b = 1 → prelu(x, 2a − 1)
static Rule ofMagnitude() {
  auto x = any(), a = constant(), b = constant();
  return Rule{"magnitude", "not the sum of multiples of x and its magnitude", x * a + op(Op::ABS, {x}) * b,
              [=](Match &m) {
                if (const char *why = slopeRefusal(m, m[x], m[a]))
                  return decline(why);
                if (m[b].rank() > m[x].rank() || !m.isRestOfOne(m[b], m[a]))
                  return decline("the multiples are not two numbers that make one together");
                Expr slope = 2 * a - 1.0;
                auto isExact = [](float twice, float one, float slope) {
                  return static_cast<double>(twice) - static_cast<double>(one) == static_cast<double>(slope);
                };
                if (!m.everyOf(slope, isExact))
                  return decline("the slope is no float");
                return m.replace(op(Op::PRELU, {x, fold(slope)}));
              }}
      .assumes("two numbers that make one but for their rounding make one");
}

/// a · x + b · relu(x) with a + b = 1 → prelu(x, a)
static Rule ofRest() {
  auto x = any(), a = constant(), b = constant();
  return Rule{"rest", "not the sum of multiples of x and its positive part", x * a + positiveOf(x) * b,
              [=](Match &m) {
                if (const char *why = slopeRefusal(m, m[x], m[a]))
                  return decline(why);
                if (m[b].rank() > m[x].rank() || !m.isRestOfOne(m[b], m[a]))
                  return decline("the multiples are not two numbers that make one together");
                return m.replace(op(Op::PRELU, {x, a}));
              }}
      .assumes("two numbers that make one but for their rounding make one");
}

/// x > 0 ? x : α·x
static Rule bySelecting() {
  auto x = any(), slope = constant();
  return {"selected", "not x or a multiple of it, by its sign", byTheSignOf(x, x, x * slope), [=](Match &m) {
            const char *why = slopeRefusal(m, m[x], m[slope]);
            return why ? decline(why) : m.replace(op(Op::PRELU, {x, slope}));
          }};
}

/// max(x, α·x) with 0 < α ≤ 1, and min(x, α·x) with α ≥ 1
static Rule byBound() {
  auto x = any(), slope = constant();
  auto greater = maximum(x, x * slope), lesser = minimum(x, x * slope);
  return {"bound", "not the greater or lesser of x and a multiple of it", greater | lesser, [=](Match &m) {
            if (const char *why = slopeRefusal(m, m[x], m[slope]))
              return decline(why);
            if (!(m.has(greater) ? m.every(m[slope], [](double n) { return n > 0 && n <= 1; })
                                 : m.every(m[slope], [](double n) { return n >= 1; })))
              return decline("the multiple is the greater one where it should not be");
            return m.replace(op(Op::PRELU, {x, slope}));
          }};
}

/// prelu(x, one number) → leaky_relu(x), which more delegates take.
static Rule oneSlope() {
  auto x = any(), slope = constant();
  return {"one-slope", "the slope is not constant", op(Op::PRELU, {x, slope}), [=](Match &m) {
            std::optional<Number> alpha = m[x].isFloat() ? m.number(m[slope]) : std::nullopt;
            return alpha ? m.replace(op(Op::LEAKY_RELU, {x}).with("alpha", *alpha))
                         : decline("the slope is not one number of float");
          }};
}

Pass RecognisePrelu() {
  return {"recognise-prelu",
          "relu(x) + a/2 * (x - |x|), relu(x) + a * min(x, 0), relu(x) - a * relu(-x), relu(x) - relu(-a * x), relu(x) "
          "+ min(a * x, 0), "
          "(1+a)/2 * x + (1-a)/2 * |x|, a * x + (1-a) * relu(x), x > 0 ? x : a * x, max(x, a * x) "
          "-> prelu(x, a), or leaky_relu(x) where a is one number",
          Phase::Recognise,
          true,
          {{"fuse_prelu", {}}},
          {ofTwoParts(), ofScaledPart(), ofMagnitude(), ofRest(), bySelecting(), byBound(), oneSlope()}};
}

} // namespace origo
