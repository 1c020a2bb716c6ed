#include "passes/layout/Forward.h"

namespace origo {

/// Why f(transpose(x, p)) that works along the last dimension cannot be computed before the transpose.
static const char *rowsRefusal(Match &m, Tensor x, Tensor moved, const std::optional<Integers> &permutation) {
  int rank = x.rank();
  if (!x.isFloat() || !permutation || !permutation->isPermutation(x.shape().size()) || rank < 2 ||
      !permutation->is(rank - 1, rank - 1))
    return "not float, or the last dimension moves";
  return movementRefusal(m, x, moved);
}

/// fc(transpose(x, p), W, b) → transpose(fc(x, W, b), p) where it keeps the dimensions, and there are no more elements
static Rule linear() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p).once();
  auto linear = op(Op::FULLY_CONNECTED, {moved}).with("keep_num_dims", 1).mayActivate();
  return {"linear", "not a fully connected operator that keeps the dimensions of a transpose", linear, [=](Match &m) {
            if (const char *why = rowsRefusal(m, m[x], m[moved], m.integers(m[p])))
              return decline(why);
            if (!m[linear].isFloat() || m[linear].lastDimension() > m[x].lastDimension())
              return decline("there would be more elements to transpose");
            return m.replace(clone(moved).operand(0, clone(linear).operand(0, x)));
          }};
}

/// f(t, g(u)) → transpose(f(t', g(u')), p), where t and u are the halves of transpose(x, p), or of a fully connected
/// operator of that, and t' and u' are those of x: a gated linear unit.
static Rule gatedHalves(llvm::StringLiteral name, bool ofLinear, unsigned gate) {
  auto x = any(), p = constant(), axis = constant();
  auto moved = transpose(x, p).once();
  auto linear = op(Op::FULLY_CONNECTED, {moved}).with("keep_num_dims", 1).mayActivate().once();
  auto split = op(Op::SPLIT, {axis, ofLinear ? linear : moved}).with("num_splits", 2);
  auto t = result(split, 1 - gate), u = result(split, gate);
  auto g = anyWith(Trait::Unary, {u}).once();
  auto f = anyWith(Trait::Binary, {t, g}).mayActivate() | anyWith(Trait::Binary, {g, t}).mayActivate();
  return {name, "not one half of what is transposed and a function of the other", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]), along = m.integers(m[axis]);
            auto axes = along ? along->axesOf(m[moved].rank()) : std::nullopt;
            if (!permutation || !permutation->isPermutation(m[x].shape().size()) || !axes || axes->size() != 1)
              return decline("the permutation or the axis is none");
            if (ofLinear)
              if (const char *why = rowsRefusal(m, m[x], m[moved], permutation))
                return decline(why);
            if (ofLinear && (axes->front() != m[x].rank() - 1 || m[linear].lastDimension() > 2 * m[x].lastDimension()))
              return decline("other halves than of the last dimension, or there would be more elements to transpose");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            Tensor outcome = m.root().result();
            if (!m[t].hasOneUse() || !m[u].hasOneUse() || !m[g].isLike(m[t]) || !outcome.isLike(m[t]) ||
                !m[t].isPerTensor() || m.op(g).has(Trait::ShapeQuery))
              return decline("a half has other users, or changes the type");
            Expr whole = ofLinear ? clone(linear).operand(0, x) : Expr(x);
            Integers back = along->boundTo(*permutation).with({static_cast<int32_t>(permutation->at(axes->front()))});
            Expr halves = op(Op::SPLIT, {back, whole}).with("num_splits", 2).results(2);
            unsigned front = m.positionOf(t);
            Expr outer = cloneRoot()
                             .operand(front, rewrite::result(halves, 1 - gate))
                             .operand(1 - front, clone(g).operand(0, rewrite::result(halves, gate)));
            return m.replace(clone(moved).operand(0, outer));
          }};
}

/// Layer normalisation of t = transpose(x, p), which nobody else uses → the same of x, transposed.
static Rule normalisation() {
  auto x = any(), p = constant();
  Normalisation norm(transpose(x, p).inside());
  return {"normalisation", "not a normalisation of a transpose that nobody else uses", norm.whole, [=](Match &m) {
            Tensor epsilon = m[norm.epsilon];
            std::optional<Integers> permutation = m.integers(m[p]), axes = m.integers(m[norm.axes]),
                                    again = m.integers(m[norm.again]);
            int rank = m[x].rank();
            if (!m[x].isFloat() || !permutation || !permutation->isPermutation(m[x].shape().size()) || !axes ||
                !axes->axesOf(rank) || !again || !again->axesOf(rank) || epsilon.elementCount() != 1 ||
                epsilon.rank() > rank)
              return decline("not float, or the permutation, the axes or epsilon are not known");
            if (const char *why = forwardRefusal(m, m[x], m[norm.moved]))
              return decline(why);
            auto back = [&](const Integers &list) { return list.boundTo(*permutation).through(*permutation); };
            return m.replace(clone(norm.moved).operand(0, norm.before(m, x, back(*axes), back(*again))));
          }};
}

Pass ForwardTransposedRows() {
  return {"forward-transposed-rows",
          "f(transpose(x, p)) -> transpose(f(x), p) for what works along the last dimension alone: fully connected "
          "operators, gated linear units, layer normalisation",
          Phase::Layout,
          true,
          {},
          {linear(), gatedHalves("first-gated", false, 0), gatedHalves("second-gated", false, 1),
           gatedHalves("linear-first-gated", true, 0), gatedHalves("linear-second-gated", true, 1), normalisation()}};
}

} // namespace origo
