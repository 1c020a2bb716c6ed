#include "passes/Rule.h"

namespace origo {

/// CUSTOM "BroadcastTo"(x, shape) → broadcast_to(x, shape), which has been a builtin operator since.
static Rule resolve() {
  auto x = any(), shape = any();
  return {"broadcast-to", "not a custom BroadcastTo", custom("BroadcastTo", {x, shape}), [=](Match &m) {
            bool integers = m[shape].type() == TensorType::INT32 || m[shape].type() == TensorType::INT64;
            return integers && m[x].hasTypeOf(m.root().result()) ? m.replace(broadcastTo(x, shape))
                                                                 : decline("BROADCAST_TO has no such types");
          }};
}

Pass ResolveCustomBroadcastTo() {
  return {"resolve-custom-broadcast-to",
          "custom BroadcastTo(x, shape) -> broadcast_to(x, shape)",
          Phase::Decompose,
          true,
          {{"resolve_former_customop", {}}},
          {resolve()}};
}

} // namespace origo
