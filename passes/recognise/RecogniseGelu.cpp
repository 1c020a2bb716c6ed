#include "passes/Rule.h"

namespace origo {

/// Half of x times 1 + tanh(√(2/π)·(x + 0.044715·x³)).
static Rule byTanh() {
  auto x = any();
  auto cube = pow(x, 3) | x * square(x) | x * (x * x);
  auto gate = 1 + tanh(near(0.7978845608) * (x + near(0.044715) * cube));
  return {"tanh", "not x/2 · (1 + tanh(0.798·(x + 0.0447·x³)))", 0.5 * x * gate, gelu(x).with("approximate", 1)};
}

/// Half of x times 1 + erf(x/√2).
static Rule byErf() {
  auto x = any();
  auto scaled = x * near(0.7071067812) | x / near(1.4142135624);
  return {"erf", "not x/2 · (1 + erf(x/√2))", 0.5 * x * (1 + custom("Erf", {scaled})), gelu(x)};
}

Pass RecogniseGelu() {
  return {"recognise-gelu",    "x/2 * (1 + tanh(0.798*(x + 0.0447*x^3))), x/2 * (1 + erf(x/sqrt(2))) -> gelu(x)",
          Phase::Recognise,    true,
          {{"fuse_gelu", {}}}, {byTanh(), byErf()}};
}

} // namespace origo
