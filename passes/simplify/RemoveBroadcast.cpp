#include "passes/Rule.h"

namespace origo {

/// Kernels that find the place of each element anew where an operand is repeated, and take up to fifteen times as long
/// as with a copy of whole rows.
static bool repeatsSlowly(Match &m, Tensor x, Tensor wide) {
  Op code = m.root().code();
  bool isSlow = code == Op::DIV || code == Op::MAXIMUM || code == Op::MINIMUM;
  return isSlow && !x.isConstant() && x.lastDimension() == wide.lastDimension();
}

/// f(wide(x), y) → f(x, y) where f broadcasts by itself to the same shape; wide is broadcast_to, tile, or · ones.
static Rule beforeArithmetic() {
  auto x = any(), y = any(), repeats = any();
  auto broadcast = op(Op::BROADCAST_TO, {x}), tiled = op(Op::TILE, {x, repeats}), times = x * 1.0, plus = x + 0.0;
  auto wide = broadcast | tiled | times | plus;
  constexpr Op codes[] = {Op::ADD,       Op::SUB,        Op::MUL,     Op::DIV,           Op::MAXIMUM,
                          Op::MINIMUM,   Op::POW,        Op::GREATER, Op::GREATER_EQUAL, Op::SQUARED_DIFFERENCE,
                          Op::LESS,      Op::LESS_EQUAL, Op::EQUAL,   Op::NOT_EQUAL,     Op::LOGICAL_AND,
                          Op::LOGICAL_OR};
  auto f = anyOf(codes, {wide, y}).mayActivate() | anyOf(codes, {y, wide}).mayActivate();
  return {
      "before-arithmetic", "no operand is the result of a broadcast", f, [=](Match &m) {
        Tensor before = m.has(broadcast) ? m[broadcast] : m.has(tiled) ? m[tiled] : m.has(times) ? m[times] : m[plus];
        Tensor result = m.root().result();
        for (Tensor t : {m[x], m[y], before, result})
          if (!t.isStaticButBatch() || (t.rank() < result.rank() && !t.isStatic()))
            return decline("the shapes are not known before run time");
        auto first = [&](Tensor t) { return t.rank() < result.rank() ? 1 : t.statedShape()[0]; };
        bool open = !m[x].isStatic();
        std::optional<Integers> multiples = open && m.has(tiled) ? m.integers(m[repeats]) : std::nullopt;
        bool once = m.has(tiled) ? multiples && multiples->size() > 0 && multiples->is(0, 1) : !m.has(broadcast);
        if ((open && !once) || (!m[y].isStatic() && first(m[x]) != first(before)))
          return decline("an open batch may be repeated");
        if (result.rank() > 4)
          return decline("kernels broadcast four dimensions at most");
        if (repeatsSlowly(m, m[x], before))
          return decline("whole rows are copied sooner than such a kernel repeats them");
        if (!m[x].hasTypeOf(before) || !m[x].hasQuantizationOf(before) || !m[x].isPerTensor())
          return decline("the broadcast changes the quantisation");
        return m.replace(cloneRoot().operand(m.root().operand(0u) == before ? 0 : 1, x)); // else the shape changes
      }};
}

/// f(reshape(x), y) → f(x, y) where the reshape puts ones in front, as f does by itself.
static Rule onesInFront() {
  auto x = any(), y = any();
  auto wide = anyOf(reshapes, {x});
  auto f = anyWith(Trait::Binary, {wide, y}).mayActivate() | anyWith(Trait::Binary, {y, wide}).mayActivate();
  return {"ones-in-front", "no operand is a reshape", f, [=](Match &m) {
            Tensor before = m[wide];
            if (!m[x].isStatic() || !before.isStatic() || m[x].rank() >= before.rank() || m[x].rank() == 0 ||
                m[y].rank() < before.rank())
              return decline("puts no ones in front, or the shapes are not known before run time");
            auto ahead = before.shape().drop_back(m[x].rank());
            if (llvm::count(ahead, 1) != static_cast<int>(ahead.size()) ||
                before.shape().take_back(m[x].rank()) != m[x].shape())
              return decline("does more than to put ones in front");
            if (!m[x].hasQuantizationOf(before) || !m[x].isPerTensor())
              return decline("the reshape changes the quantisation");
            return m.replace(cloneRoot().operand(m.root().operand(0u) == before ? 0 : 1, x)); // else the shape changes
          }};
}

/// f(concat(x, x, x), y) → f(x, y) where x has one element along the dimension, and f broadcasts to the same shape.
static Rule ofCopies() {
  auto x = any(), y = any();
  auto copies = op(Op::CONCATENATION, {}).each(x);
  auto f = anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {copies, y}).mayActivate() |
           anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {y, copies}).mayActivate();
  return {"of-copies", "no operand is a concatenation", f, [=](Match &m) {
            Node joined = m.op(copies);
            Tensor one = m.at(0, x), wide = m[copies], result = m.root().result();
            for (unsigned i = 1; i < joined.operandCount(); ++i)
              if (!(m.at(i, x) == one))
                return decline("several are joined");
            int64_t axis = joined.option("axis");
            axis += axis < 0 ? wide.rank() : 0;
            if (!one.isStatic() || !wide.isStatic() || !m[y].isStatic() || !result.isStatic() || result.rank() > 4 ||
                axis < 0 || axis >= one.rank() || one.shape()[axis] != 1 || !one.isPerTensor() ||
                !one.hasQuantizationOf(wide))
              return decline("repeated along more than one element, or the shapes are not known before run time");
            if (repeatsSlowly(m, one, wide))
              return decline("whole rows are copied sooner than such a kernel repeats them");
            return m.replace(cloneRoot().operand(m.positionOf(copies), one)); // else the shape changes
          }};
}

/// select(wide(c), a, b), select(c, wide(a), b), select(c, a, wide(b)) → without the broadcast
static Rule beforeSelect() {
  auto x = any(), repeats = any(), a = any(), b = any();
  auto wide = op(Op::BROADCAST_TO, {x}) | op(Op::TILE, {x, repeats});
  auto choice = op(Op::SELECT_V2, {wide, a, b}) | op(Op::SELECT_V2, {a, wide, b}) | op(Op::SELECT_V2, {a, b, wide});
  return {"before-select", "no operand is the result of a broadcast", choice, [=](Match &m) {
            unsigned at = 0; // where neither of the others is
            while (m.root().operand(at) == m[a] || m.root().operand(at) == m[b])
              ++at;
            Tensor before = m.root().operand(at);
            for (Tensor t : {m[x], m[a], m[b], before, m.root().result()})
              if (!t.isStatic() || t.rank() > 4)
                return decline("the shapes are not known before run time, or have more than four dimensions");
            if (!m[x].hasTypeOf(before) || !m[x].hasQuantizationOf(before) || !m[x].isPerTensor())
              return decline("the broadcast changes the quantisation");
            return m.replace(cloneRoot().operand(at, x)); // else the shape changes
          }};
}

/// batch_matmul(wide(a), b) and batch_matmul(a, wide(b)), repeated along the batch → without the broadcast
static Rule beforeProduct(llvm::StringLiteral name, unsigned side) {
  auto x = any(), repeats = any(), y = any();
  auto broadcast = op(Op::BROADCAST_TO, {x}), tiled = op(Op::TILE, {x, repeats}), wide = broadcast | tiled;
  auto product = op(Op::BATCH_MATMUL, side == 0 ? std::vector{wide, y} : std::vector{y, wide});
  return {name, "this operand is not the result of a broadcast", product, [=](Match &m) {
            Tensor before = m.root().operand(side);
            for (Tensor t : {m[x], m[y], before, m[product]})
              if (!t.isFloat() || !t.isStatic() || t.rank() < 2 || t.rank() > 4)
                return decline("not float matrices of known shape, or of more than four dimensions");
            if (m[x].shape().take_back(2) != before.shape().take_back(2))
              return decline("the matrices are repeated within");
            return m.replace(cloneRoot().operand(side, x)); // else the shape changes
          }};
}

Pass RemoveBroadcast() {
  return {"remove-broadcast",
          "f(broadcast_to(x), y), f(tile(x), y), f(x * ones, y), f(x + zeros, y), f(concat(x, x), y), f(reshape(x), y) "
          "-> f(x, y) where f "
          "broadcasts by itself to the same shape, also a choice or a product of matrices",
          Phase::Simplify,
          true,
          {},
          {beforeArithmetic(), onesInFront(), ofCopies(), beforeSelect(), beforeProduct("before-product-left", 0),
           beforeProduct("before-product-right", 1)}};
}

} // namespace origo
