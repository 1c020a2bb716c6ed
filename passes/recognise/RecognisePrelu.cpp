#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// relu(x) + ½ · α · (x − |x|) → prelu(x, α), and relu(x) + α · min(x, 0), relu(x) − α · relu(−x).
static Rule slope() {
  auto x = any(), alpha = constant();
  auto below = 0.5 * alpha * (x - op(Op::ABS, {x})) | alpha * minimum(x, 0);
  auto pattern = (relu(x) + below) | (relu(x) - alpha * relu(-x));
  return {"slope", "not relu(x) + α/2 · (x − |x|)", pattern, [=](Match &m) {
            if (!m[x].isFloat() || m[alpha].rank() > m[x].rank())
              return decline("not float, or alpha has more dimensions");
            // Infinity times the zero of a positive x is not a number, which PRELU does not compute.
            if (!m.every(m[alpha], [](double n) { return std::isfinite(n); }))
              return decline("alpha is not finite");
            return m.replace(op(Op::PRELU, {x, alpha}));
          }};
}

/// relu(x) + c · (x − |x|) → prelu(x, 2c): the half and the slope are one constant already.
static Rule halfSlope() {
  auto x = any(), half = constant();
  auto pattern = relu(x) + half * (x - op(Op::ABS, {x}));
  auto doubled = half * 2;
  return {"half-slope", "not relu(x) + c · (x − |x|)", pattern, [=](Match &m) {
            if (!m[x].isFloat() || m[half].rank() > m[x].rank())
              return decline("not float, or the constant has more dimensions");
            if (!m.everyOf(doubled, [](float, float, float slope) { return std::isfinite(slope); }))
              return decline("the slope is not finite");
            return m.replace(op(Op::PRELU, {x, fold(doubled)}));
          }};
}

Pass RecognisePrelu() {
  return {
      "recognise-prelu",    "relu(x) + a/2 * (x - |x|), relu(x) + a * min(x, 0), relu(x) - a * relu(-x) -> prelu(x, a)",
      Phase::Recognise,     true,
      {{"fuse_prelu", {}}}, {slope(), halfSlope()}};
}

} // namespace origo
