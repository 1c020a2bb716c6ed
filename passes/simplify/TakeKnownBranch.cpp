#include "passes/Rule.h"

namespace origo {

/// select(true, x, y) → x, select(false, x, y) → y
static Rule select() {
  auto choice = constant(), x = any(), y = any();
  return {"select", "the choice is not constant", anyOf({Op::SELECT, Op::SELECT_V2}, {choice, x, y}), [=](Match &m) {
            bool first = m.isEvery(m[choice], 1);
            if (!first && !m.isEvery(m[choice], 0))
              return decline("the choice is not the same everywhere");
            Expr taken = first ? x : y;
            auto repeatsNone = [&](Tensor other) { // of an open batch
              return other.isStatic() && (other.rank() < m[taken].rank() || other.shape()[0] == 1);
            };
            bool known = m[taken].isStatic() ||
                         (m[taken].isStaticButBatch() && repeatsNone(m[choice]) && repeatsNone(first ? m[y] : m[x]));
            if (!known || !m[taken].hasShapeOf(m.root().result()))
              return decline("what is chosen is repeated, or of a shape that is not known before run time");
            return m.replace(taken);
          }};
}

/// select(not(c), x, y) → select(c, y, x)
static Rule selectNegated() {
  auto c = any(), x = any(), y = any();
  auto choice = anyOf({Op::SELECT, Op::SELECT_V2}, {op(Op::LOGICAL_NOT, {c}), x, y});
  return {"select-negated", "the choice is not negated", choice,
          [=](Match &m) { return m.replace(cloneRoot().operand(0, c).operand(1, y).operand(2, x)); }};
}

/// if(not(c), x) → if(c, x) with the branches swapped
static Rule negated() {
  auto c = any();
  auto choice = op(Op::IF, {op(Op::LOGICAL_NOT, {c})});
  return {"negated", "the condition is not negated", choice, [=](Match &m) {
            int64_t then = m.root().option("then_subgraph_index"), other = m.root().option("else_subgraph_index");
            return m.replace(
                cloneRoot().operand(0u, c).with("then_subgraph_index", other).with("else_subgraph_index", then));
          }};
}

Pass TakeKnownBranch() {
  return {"take-known-branch",
          "select(true, x, y) -> x, select(false, x, y) -> y, select(not(c), x, y) -> select(c, y, x), if(not(c), x) "
          "-> if(c, x) with the branches swapped",
          Phase::Simplify,
          true,
          {},
          {select(), selectNegated(), negated()}};
}

} // namespace origo
