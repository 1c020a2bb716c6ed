#include "passes/Rule.h"

namespace origo {

/// CUSTOM "AddV2"(x, y) → x + y
static Rule resolve() {
  auto x = any(), y = any();
  return {"add", "not a custom AddV2", custom("AddV2", {x, y}), [=](Match &m) {
            TensorType type = m[x].type();
            bool sums = type == TensorType::FLOAT32 || type == TensorType::INT32 || type == TensorType::INT64;
            return sums && m[y].hasTypeOf(m[x]) ? m.replace(x + y) : decline("ADD has no such types");
          }};
}

Pass ResolveCustomAdd() {
  return {"resolve-custom-add", "custom AddV2(x, y) -> x + y", Phase::Decompose, true, {{"resolve_customop_add", {}}},
          {resolve()}};
}

} // namespace origo
