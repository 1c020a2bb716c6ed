#include "passes/Rule.h"

namespace origo {

/// rsqrt(x) → 1 / √x
Pass DecomposeRsqrt() {
  auto x = any();
  Rule quotient("quotient", "not an rsqrt", rsqrt(x),
                [=](Match &m) { return m[x].isFloat() ? m.replace(1 / sqrt(x)) : decline("not float"); });
  return Pass{"decompose-rsqrt", "rsqrt(x) -> 1 / sqrt(x)", Phase::Backend, false, {}, {quotient}}.mending();
}

} // namespace origo
