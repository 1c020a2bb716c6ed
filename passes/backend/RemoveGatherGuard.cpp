#include "passes/Rule.h"

namespace origo {

/// gather(x, (i + n) mod n) → gather(x, i), n the length of the axis: whoever asks for it knows that no index is
/// negative.
static Rule guard() {
  auto x = any(), i = any(), n = constant(), again = constant();
  auto gathered = op(Op::GATHER, {x, op(Op::FLOOR_MOD, {i + n, again})});
  return {"guard", "the indices are not (i + n) mod n", gathered, [=](Match &m) {
            int64_t axis = m.op(gathered).option("axis"), rank = m[x].rank();
            axis += axis < 0 ? rank : 0;
            if (axis < 0 || axis >= rank || !m[x].isStatic() || m.op(gathered).option("batch_dims") != 0)
              return decline("the length of the axis is not known");
            std::optional<Integers> added = m.integers(m[n]), modulus = m.integers(m[again]);
            int32_t length = m[x].shape()[axis];
            if (!added || !modulus || !added->are({length}) || !modulus->are({length}))
              return decline("the numbers are not the length of the axis");
            return m.replace(clone(gathered).operand(1, i));
          }};
}

Pass RemoveGatherGuard() {
  return Pass{"remove-gather-guard",
              "gather(x, (i + n) mod n) -> gather(x, i), where the user promises that no index is negative",
              Phase::Backend,
              false,
              {{"remove_gather_guard", {}}},
              {guard()}}
      .about("Converters guard indices that may count from the end. Whoever asks for this knows that none does: "
             "nothing checks it, and a negative index is refused by GATHER or read as it is, depending on the "
             "back end.");
}

} // namespace origo
