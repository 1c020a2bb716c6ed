#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// padv2(x, widths, 0) → pad(x, widths)
static Rule byZero() {
  auto x = any(), widths = any(), number = constant();
  return {"zero", "the number is not constant", op(Op::PADV2, {x, widths, number}), [=](Match &m) {
            if (m[x].isQuantized() || m[number].isQuantized() || m.root().result().isQuantized())
              return decline("quantised");
            if (!m.every(m[number], [](double n) { return n == 0 && !std::signbit(n); }))
              return decline("the number is not zero");
            return m.replace(op(Op::PAD, {x, widths}));
          }};
}

Pass SubstitutePadV2() {
  return {"substitute-pad-v2",
          "padv2(x, widths, 0) -> pad(x, widths)",
          Phase::Simplify,
          true,
          {{"substitute_padv2_to_pad", {}}},
          {byZero()}};
}

} // namespace origo
