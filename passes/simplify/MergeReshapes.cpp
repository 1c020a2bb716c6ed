#include "passes/Rule.h"

namespace origo {

/// reshape(reshape(x)) → x where the outer one undoes the inner.
static Rule cancel() {
  auto x = any();
  return {"cancel", "the operand is not the result of a reshape", anyOf(reshapes, {anyOf(reshapes, {x})}),
          [=](Match &m) {
            Tensor result = m.root().result();
            if (!m[x].isStaticButOne() || !m[x].hasShapeOf(result))
              return decline("the two do not undo each other");
            return m.replace(x);
          }};
}

/// reshape(reshape(x)) → reshape(x): the order of the elements is all that the inner one hands on.
static Rule merge() {
  auto x = any();
  auto inner = anyOf(reshapes, {x});
  auto outer = op(Op::RESHAPE, {inner});
  return {"merge", "the operand is not the result of a reshape", outer, [=](Match &m) {
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(m[inner]))
              return decline("the inner reshape changes the quantisation");
            if (Tensor shape = m.op(inner).operand(1); shape && !shape.isConstant() && !m[inner].isStatic())
              return decline("the shape in between is computed");
            return m.replace(clone(outer).operand(0, x));
          }};
}

Pass MergeReshapes() {
  return {"merge-reshapes",
          "reshape(reshape(x)) -> reshape(x), or x where the two undo each other",
          Phase::Simplify,
          true,
          {{"remove_redundant_reshape", {}}},
          {cancel(), merge()}};
}

} // namespace origo
