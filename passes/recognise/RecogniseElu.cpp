#include "passes/Spelling.h"

namespace origo {

/// x > 0 ? x : exp(x) − 1, and max(x, 0) + (exp(min(x, 0)) − 1) → elu(x)
static Rule elu() {
  auto x = any();
  auto below = negativeOf(x) | byTheSignOf(x, 0.0, x);
  auto less = plus(expOf(x), -1); // of the sign of x
  auto selected = byTheSignOf(x, x, plus(expOf(x | below), -1));
  auto summed = (positiveOf(x) + expOf(below) + -1.0) | (positiveOf(x) + (expOf(below) - 1)) |
                (positiveOf(x) + minimum(less, 0.0)) | (positiveOf(x) - positiveOf(1.0 - expOf(x))) |
                maximum(x, plus(expOf(below), -1));
  return {"elu", "not x or exp(x) − 1, by its sign", selected | summed,
          [=](Match &m) { return m[x].isFloat() ? m.replace(op(Op::ELU, {x})) : decline("not float"); }};
}

Pass RecogniseElu() {
  return {
      "recognise-elu", "x > 0 ? x : exp(x) - 1, max(x, 0) + exp(min(x, 0)) - 1 -> elu(x)", Phase::Recognise, true, {},
      {elu()}};
}

} // namespace origo
