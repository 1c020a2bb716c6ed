#include "passes/layout/Forward.h"

namespace origo {

/// unary(transpose(x, p)) → transpose(unary(x), p)
static Rule unary() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p).once();
  auto f = anyWith(Trait::Unary, {moved});
  return {"unary", "the operand is not the result of a transpose with this use only", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].shape().size()))
              return decline("not a permutation");
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            return m.replace(clone(moved).operand(0, clone(f).operand(0, x).as(m[f], m[x])));
          }};
}

/// softmax(transpose(x, p)) → transpose(softmax(x), p), and what else works along the last dimension, which stays
static Rule alongLast() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p).once();
  auto f = anyOf({Op::SOFTMAX, Op::LOG_SOFTMAX, Op::L2_NORMALIZATION}, {moved});
  return {"along-last", "the operand is not the result of a transpose with this use only", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            size_t rank = m[x].shape().size();
            if (!m[x].isFloat() || !permutation || !permutation->isPermutation(rank) || rank == 0 || rank > 4 ||
                !permutation->is(rank - 1, static_cast<int64_t>(rank) - 1))
              return decline("not float, or the last dimension moves");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            return m.replace(clone(moved).operand(0, clone(f).operand(0, x).as(m[f], m[x])));
          }};
}

/// f(transpose(x, p), transpose(y, p)) → transpose(f(x, y), p)
static Rule both() {
  auto x = any(), y = any(), p = constant(), q = constant();
  auto a = transpose(x, p).once(), b = transpose(y, q).once();
  auto f = anyWith(Trait::Binary, {a, b}).mayActivate();
  return {"both", "an operand is not the result of a transpose with this use only", f, [=](Match &m) {
            std::optional<Integers> first = m.integers(m[p]), second = m.integers(m[q]);
            if (!first || !second || !(*first == *second))
              return decline("the operands are transposed in different ways");
            if (!first->isPermutation(m[x].shape().size()))
              return decline("not a permutation");
            bool isWhole = m[a].hasShapeOf(m[f]); // else it is broadcast
            const char *why = isWhole ? movementRefusal(m, m[y], m[b]) : movementRefusal(m, m[x], m[a]);
            if (!why)
              why = isWhole ? forwardRefusal(m, m[x], m[a]) : forwardRefusal(m, m[y], m[b]);
            if (why)
              return decline(why);
            Expr inner = clone(f).operand(m.positionOf(a), x).operand(m.positionOf(b), y);
            inner = inner.as(m[f], isWhole ? m[x] : m[y]);
            return m.replace(clone({a, b}).operand(0, inner));
          }};
}

/// f(t, g(t)) → transpose(f(x, g(x)), p), where t = transpose(x, p) and nobody else uses it: x · sigmoid(x).
static Rule gate() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p).inside();
  auto g = anyWith(Trait::Unary, {moved}).once();
  auto f = anyWith(Trait::Binary, {moved, g}).mayActivate() | anyWith(Trait::Binary, {g, moved}).mayActivate();
  return {"gate", "the operands are not a transpose and a function of it, which nobody else uses", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].shape().size()))
              return decline("not a permutation");
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            if (!m[g].isLike(m[moved]) || m.op(g).has(Trait::ShapeQuery))
              return decline("changes the type");
            Expr inner = clone(g).operand(0, x).as(m[g], m[x]);
            Expr outer = cloneRoot().operand(m.positionOf(moved), x).operand(m.positionOf(g), inner);
            return m.replace(clone(moved).operand(0, outer.as(m.root().result(), m[x])));
          }};
}

/// Its sizes, with ones in front up to a rank.
static llvm::SmallVector<int32_t, 6> filledUp(Tensor of, size_t rank) {
  llvm::SmallVector<int32_t, 6> sizes(rank - of.shape().size(), 1);
  sizes.append(of.shape().begin(), of.shape().end());
  return sizes;
}

/// Does it differ along one dimension at most?
static bool isAlongOne(Tensor tensor) {
  return llvm::count_if(tensor.statedShape(), [](int32_t size) { return size != 1; }) <= 1;
}

/// Moves the elements of a constant so that transposing them gives them back: its rank is filled up with ones in front.
static Expr transposedBack(Tensor c, const Integers &permutation, size_t rank) {
  auto full = filledUp(c, rank);
  Integers back = permutation.inverse();
  if (back.keepsOrderOf(full))
    return fold(reshape(c, back.permuted(full)));
  return fold(transpose(c.shape().size() == rank ? Expr(c) : reshape(c, list(full)), back));
}

/// f(transpose(x, p), c) → transpose(f(x, c transposed back), p)
static Rule withConstant() {
  auto x = any(), p = constant(), c = constant();
  auto a = transpose(x, p).once();
  auto f = anyWith(Trait::Binary, {a, c}).mayActivate() | anyWith(Trait::Binary, {c, a}).mayActivate();
  return {"constant", "an operand is neither constant nor the result of a transpose with this use only", f,
          [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            size_t rank = m[a].shape().size();
            if (!permutation || !permutation->isPermutation(rank))
              return decline("not a permutation");
            if (const char *why = forwardRefusal(m, m[x], m[a]))
              return decline(why);
            if (m[c].rank() > m[a].rank() || !m[c].isPerTensor())
              return decline("the constant is of a higher rank, not dense, or quantised by channel");
            bool one = m[c].elementCount() == 1;
            // A second copy of a vector is nothing beside a movement, and its other users may be gone tomorrow.
            if (!isAlongOne(m[c]) && !m[c].hasOneUse())
              return decline("the constant has other users, for whom it would have to stay");
            Expr moved = one ? c : transposedBack(m[c], *permutation, rank);
            Tensor result = m.root().result();
            Expr inner = cloneRoot().operand(m.positionOf(a), x).operand(m.positionOf(c), moved).as(result, m[x]);
            return m.replace(clone(a).operand(0, inner));
          }};
}

static bool isVector(Tensor v, size_t rank) {
  return v.isStatic() && v.isPerTensor() && v.shape().size() <= rank && isAlongOne(v);
}

/// A vector in the place that it had before the transpose.
static Expr vectorBack(Tensor v, const Integers &permutation, size_t rank) {
  Expr wide =
      v.shape().size() == rank ? Expr(v) : reshape(v, list(filledUp(v, rank))).synthetic(SyntheticReason::LayoutBridge);
  return transpose(wide, permutation.inverse()).synthetic(SyntheticReason::LayoutBridge);
}

/// f(transpose(x, p), v) → transpose(f(x, v in the place that it had), p) for a vector v that is computed: a gate.
static Rule withVector() {
  auto x = any(), p = constant(), v = any();
  auto a = transpose(x, p).once();
  auto f = anyWith(Trait::Binary, {a, v}).mayActivate() | anyWith(Trait::Binary, {v, a}).mayActivate();
  return {"vector", "an operand is not the result of a transpose with this use only", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            size_t rank = m[a].shape().size();
            if (!permutation || !permutation->isPermutation(rank))
              return decline("not a permutation");
            if (const char *why = forwardRefusal(m, m[x], m[a]))
              return decline(why);
            if (m[v].isConstant() || !isVector(m[v], rank) || isVector(m[x], rank))
              return decline("the other operand is constant, or no vector, or both are");
            Expr back = vectorBack(m[v], *permutation, rank);
            Tensor result = m.root().result();
            Expr inner = cloneRoot().operand(m.positionOf(a), x).operand(m.positionOf(v), back).as(result, m[x]);
            return m.replace(clone(a).operand(0, inner));
          }};
}

/// f(t, g(t, v)) → transpose(f(x, g(x, v in the place that it had)), p), where t = transpose(x, p), and nobody else
/// uses it: x + x · gate.
static Rule gateOfVector() {
  auto x = any(), p = constant(), v = any();
  auto moved = transpose(x, p).inside();
  auto first = anyWith(Trait::Binary, {moved, v}).once(), second = anyWith(Trait::Binary, {v, moved}).once();
  auto g = first | second;
  auto f = anyWith(Trait::Binary, {moved, g}).mayActivate() | anyWith(Trait::Binary, {g, moved}).mayActivate();
  return {"gate-of-vector",
          "the operands are not a transpose and a function of it and a vector, which nobody else uses", f,
          [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            size_t rank = m[x].shape().size();
            if (!permutation || !permutation->isPermutation(rank))
              return decline("not a permutation");
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            const Expr &inner = m.has(first) ? first : second;
            if (!m[inner].isLike(m[moved]) || m[v].isConstant() || !isVector(m[v], rank) || isVector(m[x], rank))
              return decline("changes the type, or the other operand is constant, or no vector, or both are");
            unsigned at = m.op(inner).operand(0) == m[moved] ? 0 : 1, in = m.positionOf(moved);
            Expr gate = clone(inner).operand(at, x).operand(1 - at, vectorBack(m[v], *permutation, rank));
            Expr outer = cloneRoot().operand(in, x).operand(1 - in, gate.as(m[inner], m[x]));
            return m.replace(clone(moved).operand(0, outer.as(m.root().result(), m[x])));
          }};
}

/// pad(transpose(x, p), widths) → transpose(pad(x, widths moved back), p)
static Rule padding() {
  auto x = any(), p = constant(), widths = constant();
  auto moved = transpose(x, p).once();
  auto padded = anyOf({Op::PAD, Op::PADV2, Op::MIRROR_PAD}, {moved, widths});
  return {"padding", "what is padded is not the result of a transpose with this use only", padded, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].shape().size()))
              return decline("not a permutation");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            if (!m[padded].hasTypeOf(m[x]) || !m[padded].isPerTensor())
              return decline("the result is quantised by channel");
            Expr back = fold(gather(widths, permutation->inverse()));
            return m.replace(clone(moved).operand(0, clone(padded).operand(0, x).operand(1, back)));
          }};
}

/// Gives a clone of the root, each operand of which is transpose(x, p), what these were made of; else says why not.
static const char *takeBack(Match &m, const Expr &x, const Expr &p, const Integers &permutation, Expr &clone) {
  for (unsigned i = 0; i < m.root().operandCount(); ++i) {
    std::optional<Integers> other = m.integers(m.at(i, p));
    if (!other || !(*other == permutation))
      return "the operands are transposed in different ways";
    if (const char *why = movementRefusal(m, m.at(i, x), m.root().operand(i)))
      return why;
    clone = clone.operand(i, m.at(i, x));
  }
  return m.root().result().isPerTensor() ? nullptr : "the result is quantised by channel";
}

/// concat(transpose(x, p), transpose(y, p), …) → transpose(concat(x, y, …), p) along the axis that it was
static Rule concatenation() {
  auto x = any(), p = constant();
  auto joined = anyOf({Op::CONCATENATION}).mayActivate().each(transpose(x, p).once());
  return {"concatenation", "an operand is not the result of a transpose with this use only", joined, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m.at(0, p));
            int64_t axis = m.root().option("axis"), rank = m.at(0, x).rank();
            axis += axis < 0 ? rank : 0;
            if (!permutation || !permutation->isPermutation(m.at(0, x).shape().size()) || axis < 0 || axis >= rank)
              return decline("the permutation or the axis is none");
            Expr inner = cloneRoot().with("axis", permutation->at(axis));
            if (const char *why = takeBack(m, x, p, *permutation, inner))
              return decline(why);
            return m.replace(transpose(inner, m.at(0, p)));
          }};
}

/// pack(transpose(x, p), transpose(y, p), …) → transpose(pack(x, y, …), p with the new dimension where it was)
static Rule packing() {
  auto x = any(), p = constant();
  auto packed = anyOf({Op::PACK}).each(transpose(x, p).once());
  return {"packing", "an operand is not the result of a transpose with this use only", packed, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m.at(0, p));
            int64_t axis = m.root().option("axis"), rank = m.at(0, x).rank();
            axis += axis < 0 ? rank + 1 : 0;
            if (!permutation || !permutation->isPermutation(m.at(0, x).shape().size()) || axis < 0 || axis > rank)
              return decline("the permutation or the axis is none");
            // Before the transposes it stands in front of the dimension that it stands in front of behind them.
            int64_t place = axis == rank ? rank : permutation->at(axis);
            Expr inner = cloneRoot().with("axis", place);
            if (const char *why = takeBack(m, x, p, *permutation, inner))
              return decline(why);
            llvm::SmallVector<int32_t, 6> wider;
            for (int64_t dimension : permutation->list())
              wider.push_back(static_cast<int32_t>(dimension + (dimension >= place)));
            wider.insert(wider.begin() + axis, static_cast<int32_t>(place));
            return m.replace(transpose(inner, permutation->with(wider)));
          }};
}

/// slice(transpose(x, p)) → transpose(slice(x, likewise), p)
static Rule slicing() {
  auto x = any(), p = constant(), begin = constant(), end = constant(), strides = constant();
  auto moved = transpose(x, p).once();
  auto sliced = op(Op::SLICE, {moved, begin, end}) | op(Op::STRIDED_SLICE, {moved, begin, end, strides});
  return {"slicing", "what is sliced is not the result of a transpose with this use only", sliced, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].shape().size()))
              return decline("not a permutation");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            if (!m.root().result().hasTypeOf(m[x]) || !m.root().result().isPerTensor())
              return decline("the result is quantised by channel");
            Integers back = permutation->inverse();
            Expr inner = cloneRoot().operand(0u, x);
            for (unsigned i = 1; i < m.root().operandCount(); ++i) {
              if (m.root().operand(i).elementCount() != permutation->size())
                return decline("not every dimension has a place in the slice");
              inner = inner.operand(i, fold(gather(m.root().operand(i), back)));
            }
            if (m.root().code() == Op::STRIDED_SLICE) {
              for (llvm::StringLiteral mask :
                   {llvm::StringLiteral("shrink_axis_mask"), llvm::StringLiteral("new_axis_mask"),
                    llvm::StringLiteral("ellipsis_mask")})
                if (m.root().option(mask) != 0)
                  return decline("dimensions come or go");
              for (llvm::StringLiteral mask : {llvm::StringLiteral("begin_mask"), llvm::StringLiteral("end_mask")}) {
                int64_t bits = 0;
                for (size_t i = 0; i < back.size(); ++i)
                  bits |= (m.root().option(mask) >> back.at(i) & 1) << i;
                inner = inner.with(mask, bits);
              }
            }
            return m.replace(clone(moved).operand(0, inner));
          }};
}

/// split(axis, transpose(x, p)) → transposes of split(the axis that it was, x), where that leaves no more of them than
/// there were, since some of the parts are turned back.
static Rule splitting() {
  auto x = any(), p = constant(), axis = constant();
  auto moved = transpose(x, p).once();
  auto apart = op(Op::SPLIT, {axis, moved});
  return {"splitting", "what is split is not the result of a transpose with this use only", apart, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]), along = m.integers(m[axis]);
            auto which = along ? along->axesOf(m[x].rank()) : std::nullopt;
            if (!permutation || !permutation->isPermutation(m[x].shape().size()) || !which || which->size() != 1)
              return decline("the permutation or the axis is none");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            unsigned count = m.root().resultCount();
            if (count > 1 + 2 * m.turnedBack(*permutation))
              return decline("there would be more transposes, few of which go");
            Integers from = along->with({static_cast<int32_t>(permutation->at(which->front()))}).boundTo(*permutation);
            Expr parts = op(Op::SPLIT, {from, x}).with("num_splits", count).results(count);
            std::vector<std::pair<Tensor, Expr>> places;
            for (unsigned i = 0; i < count; ++i)
              if (m.root().result(i))
                places.emplace_back(m.root().result(i), transpose(result(parts, i), p));
            return m.replace(places);
          }};
}

/// f(transpose(x, p), itself) → transpose(f(x, x), p): a square.
static Rule square() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p).inside();
  auto f = anyWith(Trait::Binary, {moved, moved}).mayActivate();
  return {"square", "the operands are not one transpose that nobody else uses", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].shape().size()))
              return decline("not a permutation");
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            Expr inner = cloneRoot().operand(0u, x).operand(1u, x).as(m.root().result(), m[x]);
            return m.replace(clone(moved).operand(0, inner));
          }};
}

/// mean(transpose(x, p), axes) → transpose(mean(x, axes moved back), p), which moves fewer elements, or none. Where the
/// transpose stays for others, none.
static Rule reduction() {
  auto x = any(), p = constant(), axes = constant();
  auto moved = transpose(x, p);
  auto reduced = anyWith(Trait::Reduction, {moved, axes});
  return {"reduction", "what is reduced is not the result of a transpose", reduced, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]), over = m.integers(m[axes]);
            int rank = m[x].rank();
            auto gone = over ? over->axesOf(rank) : std::nullopt;
            if (!permutation || !permutation->isPermutation(m[x].shape().size()) || !gone)
              return decline("the permutation or the axes are not known");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            if (!m[reduced].isPerTensor())
              return decline("the result is quantised by channel");
            Expr inner = clone(reduced).operand(0, x).operand(1, over->boundTo(*permutation).through(*permutation));
            bool stays = !m[moved].hasOneUse();
            if (m.op(reduced).option("keep_dims"))
              return stays && !(m[reduced].isStatic() && isAlongOne(m[reduced]))
                         ? decline("the transpose has other uses, for whom it would stay")
                         : m.replace(clone(moved).operand(0, inner));
            Integers left = permutation->without(*gone);
            if (!left.isSorted() && stays)
              return decline("the transpose has other uses, for whom it would stay");
            return m.replace(left.isSorted() ? inner : clone(moved).operand(0, inner).operand(1, left.boundTo(*over)));
          }};
}

/// gather(transpose(x, p), i) → transpose(gather(x, i) along the dimension that it was, p) for a list of positions
static Rule gathering() {
  auto x = any(), p = constant(), i = any();
  auto moved = transpose(x, p).once();
  auto taken = op(Op::GATHER, {moved, i});
  return {"gathering", "what is gathered of is not the result of a transpose with this use only", taken, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            int64_t axis = m.op(taken).option("axis"), rank = m[x].rank();
            axis += axis < 0 ? rank : 0;
            if (!permutation || !permutation->isPermutation(m[x].shape().size()) || axis < 0 || axis >= rank)
              return decline("the permutation or the axis is none");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            if (m[i].rank() != 1 || m.op(taken).option("batch_dims") != 0)
              return decline("the positions are no list, or go by batch");
            return m.replace(clone(moved).operand(0, clone(taken).operand(0, x).with("axis", permutation->at(axis))));
          }};
}

/// f(t, r(t)) → transpose(f(x, r(x)), p), where t = transpose(x, p), which nobody else uses, and r reduces it, a
/// function of it or its square, and keeps the dimensions: what centres or normalises.
static Rule normalisation(llvm::StringLiteral name, bool squares, bool withNumber) {
  auto x = any(), p = constant(), axes = constant(), number = constant();
  auto moved = transpose(x, p).inside();
  auto function = anyWith(Trait::Unary, {moved}).once(), square = anyWith(Trait::Binary, {moved, moved}).once();
  Expr inner = squares ? square : moved | function;
  auto reduced = anyWith(Trait::Reduction, {inner, axes}).with("keep_dims", 1).once();
  auto shifted = withNumber ? anyWith(Trait::Binary, {reduced, number}).once() : reduced;
  auto outer = anyWith(Trait::Unary, {shifted}).once(), column = shifted | outer;
  auto f =
      anyWith(Trait::Binary, {moved, column}).mayActivate() | anyWith(Trait::Binary, {column, moved}).mayActivate();
  return {name, "not a transpose that nobody else uses, and what it is reduced to", f, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]), over = m.integers(m[axes]);
            int rank = m[x].rank();
            if (!permutation || !permutation->isPermutation(m[x].shape().size()) || !over || !over->axesOf(rank))
              return decline("the permutation or the axes are not known");
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            if (!m[x].isFloat() || !m[reduced].isFloat() || (m.has(outer) && !m[outer].isFloat()) ||
                (withNumber && (m[number].elementCount() != 1 || m[number].rank() > rank)))
              return decline("not float, or another constant than one number");
            Expr from = squares           ? clone(square).operand(0u, x).operand(1u, x).as(m[square], m[x])
                        : m.has(function) ? clone(function).operand(0, x).as(m[function], m[x])
                                          : Expr(x);
            Expr narrow = clone(reduced).operand(0, from).operand(1, over->boundTo(*permutation).through(*permutation));
            if (withNumber)
              narrow = clone(shifted).operand(m.op(shifted).operand(0) == m[reduced] ? 0 : 1, narrow);
            if (m.has(outer))
              narrow = clone(outer).operand(0, narrow);
            unsigned at = m.positionOf(moved);
            Expr result = cloneRoot().operand(at, x).operand(1 - at, narrow).as(m.root().result(), m[x]);
            return m.replace(clone(moved).operand(0, result));
          }};
}

/// concat(slice(t), slice(t), …) → transpose(concat(slice(x), slice(x), …), p), where t = transpose(x, p)
static Rule slices() {
  auto x = any(), p = constant(), begin = constant(), end = constant(), strides = constant();
  auto moved = transpose(x, p).inside();
  auto slice = op(Op::STRIDED_SLICE, {moved, begin, end, strides}).once();
  auto joined = anyOf({Op::CONCATENATION}).mayActivate().each(slice);
  return {"slices", "an operand is not a slice of a transpose that nobody else uses", joined, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m.at(0, p));
            int64_t axis = m.root().option("axis"), rank = m.at(0, x).rank();
            axis += axis < 0 ? rank : 0;
            if (!permutation || !permutation->isPermutation(m.at(0, x).shape().size()) || axis < 0 || axis >= rank)
              return decline("the permutation or the axis is none");
            Integers back = permutation->inverse();
            Expr inner = cloneRoot().with("axis", permutation->at(axis));
            for (unsigned i = 0; i < m.root().operandCount(); ++i) {
              Node one = m.op(i, slice);
              if (!(m.at(i, x) == m.at(0, x)) || !(m.at(i, p) == m.at(0, p)))
                return decline("the slices are of different transposes");
              if (const char *why = movementRefusal(m, m.at(i, x), m.root().operand(i)))
                return decline(why);
              std::vector<Expr> operands{m.at(i, x)};
              for (const Expr &list : {begin, end, strides}) {
                if (m.at(i, list).elementCount() != permutation->size())
                  return decline("not every dimension has a place in the slice");
                operands.push_back(fold(gather(m.at(i, list), back)));
              }
              Expr part = op(Op::STRIDED_SLICE, operands);
              for (llvm::StringLiteral mask :
                   {llvm::StringLiteral("shrink_axis_mask"), llvm::StringLiteral("new_axis_mask"),
                    llvm::StringLiteral("ellipsis_mask")})
                if (one.option(mask) != 0)
                  return decline("dimensions come or go");
              for (llvm::StringLiteral mask : {llvm::StringLiteral("begin_mask"), llvm::StringLiteral("end_mask")}) {
                int64_t bits = 0;
                for (size_t k = 0; k < back.size(); ++k)
                  bits |= (one.option(mask) >> back.at(k) & 1) << k;
                part = part.with(mask, bits);
              }
              inner = inner.operand(i, part);
            }
            return m.root().result().isPerTensor() ? m.replace(transpose(inner, m.at(0, p)))
                                                   : decline("the result is quantised by channel");
          }};
}

Pass ForwardTransposes() {
  return {"forward-transposes",
          "f(transpose(x, p), transpose(y, p), a constant or a vector) -> transpose(f(x, y), p) for elementwise f; "
          "also for "
          "padding, slices, splits, gathers, reductions, normalisations, concatenations and packs",
          Phase::Layout,
          true,
          {{"forward_transpose_op", {}},
           {"convert_nchw_to_nhwc", {}},
           {"fuse_transpose_with_mean", {{Op::MEAN, Op::TRANSPOSE}}}},
          {unary(),
           alongLast(),
           both(),
           square(),
           gate(),
           withConstant(),
           withVector(),
           gateOfVector(),
           padding(),
           concatenation(),
           packing(),
           splitting(),
           slicing(),
           slices(),
           gathering(),
           reduction(),
           normalisation("normalisation", false, false),
           normalisation("normalisation-number", false, true),
           normalisation("normalisation-squares", true, false),
           normalisation("normalisation-squares-number", true, true)}};
}

} // namespace origo
