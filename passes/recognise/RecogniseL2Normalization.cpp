#include "passes/Spelling.h"

namespace origo {

/// x / √(sum(x²)), with the sum bounded at 1e-12 or not, over the last axis.
static Rule norm() {
  auto x = any(), axes = constant();
  auto sum = op(Op::SUM, {squareOf(x), axes});
  auto total = column(sum) | maximum(column(sum), about(1e-12)) | column(maximum(sum, about(1e-12)));
  auto bounded = maximum(rootOf(sum), about(1e-6));
  auto root = rootOf(total) | maximum(rootOf(column(sum)), about(1e-6)) | bounded, inverse = inverseRootOf(total);
  auto pattern = (x / (root | column(root))).mayActivate() | (x * (inverse | column(inverse))).mayActivate();
  return Rule{"norm", "not x over the root of the sum of its squares", pattern,
              [=](Match &m) {
                unsigned other = m.root().operand(0u) == m[x] ? 1 : 0;
                if (!m[x].isFloat() || m[x].rank() > 4 || m.root().activation() != Activation::NONE)
                  return decline("not float of four dimensions at most, or an activation is fused");
                if (!isColumnOf(m, m[x], sum, m[axes], m.root().operand(other)))
                  return decline("the sum is not one number for each row");
                return m.replace(op(Op::L2_NORMALIZATION, {x}));
              }}
      .assumes("the norm of a row whose norm has no bound is at least 1e-6");
}

Pass RecogniseL2Normalization() {
  return Pass{"recognise-l2-normalization",
              "x / sqrt(sum(x*x)), x * rsqrt(max(sum(x*x), 1e-12)) -> l2_normalization(x)",
              Phase::Recognise,
              true,
              {},
              {norm()}}
      .about("The operator bounds the norm at 1e-6, and so the sum at 1e-12. Without a bound, rows of a smaller norm "
             "become "
             "another multiple of themselves, and a row of zeros stays one where the quotient is NaN.");
}

} // namespace origo
