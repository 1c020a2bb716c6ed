#include "passes/Spelling.h"

namespace origo {

/// max(x, −x), √(x²), x > 0 ? x : −x, x · sign(x) → |x|
static Rule magnitude() {
  auto x = any();
  auto greater = maximum(x, negated(x)), root = rootOf(squareOf(x)), selected = byTheSignOf(x, x, negated(x));
  auto parts = (positiveOf(x) + positiveOf(negated(x))) | (positiveOf(x) - negativeOf(x)) | x * op(Op::SIGN, {x});
  return Rule{"abs", "not the greater of x and −x", greater | root | selected | parts,
              [=](Match &m) { return m[x].isFloat() ? m.replace(op(Op::ABS, {x})) : decline("not float"); }}
      .assumes("squares neither over- nor underflow");
}

Pass RecogniseAbs() {
  return Pass{"recognise-abs",
              "max(x, -x), sqrt(x*x), x > 0 ? x : -x, relu(x) + relu(-x), relu(x) - min(x, 0), x * sign(x) -> abs(x)",
              Phase::Recognise,
              true,
              {},
              {magnitude()}}
      .about("A square over- or underflows below 1e-19 and above 1e19, where the root of it is zero or infinite.");
}

} // namespace origo
