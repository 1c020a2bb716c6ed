#include "passes/Rule.h"

namespace origo {

/// x to the power of a number → what that is
static Rule power(llvm::StringLiteral name, double exponent, Expr x, Expr result) {
  return {name, "not a power of this number", pow(x, exponent),
          [=](Match &m) { return m[x].isFloat() ? m.replace(result) : decline("not float"); }};
}

Pass RecognisePowers() {
  auto x = any();
  return Pass{
      "recognise-powers",
      "pow(x, 2) -> square(x), pow(x, 0.5) -> sqrt(x), pow(x, -0.5) -> rsqrt(x), pow(x, -1) -> 1 / x, pow(x, 1) -> x",
      Phase::Recognise,
      true,
      {},
      {power("square", 2, x, square(x)), power("root", 0.5, x, sqrt(x)), power("inverse-root", -0.5, x, rsqrt(x)),
       power("reciprocal", -1, x, 1.0 / x), power("one", 1, x, x)}}
      .about("Of minus infinity, a power of one half is infinite, and the root is NaN.");
}

} // namespace origo
