#include "passes/Rule.h"

namespace origo {

/// composite(x) → f(x), where f is its decomposition. A back end that knows it by its name runs it better than that.
static Rule composite() {
  return {"composite", "", op(Op::STABLEHLO_COMPOSITE, {}), [](Match &m) { return m.inlineRoot(0); }};
}

Pass InlineComposites() {
  return Pass{"inline-composites",
              "composite(x) -> its decomposition, for back ends that do not know it",
              Phase::Decompose,
              false,
              {},
              {composite()}}
      .about("STABLEHLO_COMPOSITE names an operator that some back ends know, and the subgraph that computes the "
             "same. The subgraph's operators take its place, each with its own origin; the subgraph goes when "
             "nothing calls it any more.");
}

} // namespace origo
