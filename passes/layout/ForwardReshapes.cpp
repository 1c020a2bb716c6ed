#include "passes/layout/Forward.h"

namespace origo {

/// unary(reshape(x)) → reshape(unary(x))
static Rule forward() {
  auto x = any();
  auto moved = anyOf(reshapes, {x}).once();
  auto unary = anyWith(Trait::Unary, {moved});
  return {"forward", "the operand is not the result of a reshape with this use only", unary, [=](Match &m) {
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            return m.replace(clone(moved).operand(0, clone(unary).operand(0, x).as(m[unary], m[x])));
          }};
}

/// f(reshape(x), number) → reshape(f(x, number))
static Rule withNumber() {
  auto x = any(), c = any();
  auto moved = anyOf(reshapes, {x}).once();
  auto f = anyWith(Trait::Binary, {moved, c}).mayActivate() | anyWith(Trait::Binary, {c, moved}).mayActivate();
  return {"number", "no operand is the result of a reshape with this use only", f, [=](Match &m) {
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            if (m[c].isConstant() ? m[c].elementCount() != 1 || m[c].rank() > m[x].rank()
                                  : !m[c].isStatic() || m[c].rank() != 0)
              return decline("the other operand is not one number");
            Expr inner = cloneRoot().operand(m.positionOf(moved), x).as(m.root().result(), m[x]);
            return m.replace(clone(moved).operand(0, inner));
          }};
}

/// The dimensions of `c`, which broadcasts to `to`, as they are for `from`, a tensor of the same elements; none where
/// the reshape between the two does more than to add and remove dimensions of size 1.
static std::optional<llvm::SmallVector<int32_t, 6>> carried(llvm::ArrayRef<int32_t> c, llvm::ArrayRef<int32_t> to,
                                                            llvm::ArrayRef<int32_t> from) {
  llvm::SmallVector<int32_t, 6> full(to.size() - c.size(), 1), sizes;
  full.append(c.begin(), c.end());
  size_t next = 0;
  auto skipOnes = [&] {
    while (next < to.size() && to[next] == 1)
      ++next;
  };
  for (int32_t size : from) {
    if (size == 1) {
      sizes.push_back(1);
      continue;
    }
    skipOnes();
    if (next == to.size() || to[next] != size)
      return std::nullopt;
    sizes.push_back(full[next++]);
  }
  skipOnes();
  if (next != to.size())
    return std::nullopt;
  return sizes;
}

/// f(reshape(x), c) → reshape(f(x, c reshaped likewise)) where only dimensions of size 1 come and go.
static Rule withConstant() {
  auto x = any(), c = constant();
  auto moved = anyOf(reshapes, {x}).once();
  auto f = anyWith(Trait::Binary, {moved, c}).mayActivate() | anyWith(Trait::Binary, {c, moved}).mayActivate();
  return {"constant", "the operands are not a constant and the result of a reshape with this use only", f,
          [=](Match &m) {
            if (const char *why = forwardRefusal(m, m[x], m[moved]))
              return decline(why);
            if (!m[x].isStatic() || !m[moved].isStatic() || m[c].elementCount() == 1 || !m[c].isPerTensor() ||
                m[c].rank() > m[moved].rank())
              return decline("one number, quantised by channel, or the shapes are not known before run time");
            auto sizes = carried(m[c].shape(), m[moved].shape(), m[x].shape());
            bool alongLast = m[c].rank() > 0 && m[c].elementCount() == m[c].lastDimension() && m[x].rank() > 0 &&
                             m[moved].lastDimension() == m[c].lastDimension() &&
                             m[x].lastDimension() == m[c].lastDimension();
            if (!sizes && alongLast)
              sizes = {m[c].lastDimension()};
            if (!sizes)
              return decline("more than dimensions of size 1 change, which the constant is not the same along");
            // A second copy of a vector is nothing beside a movement, and its other users may be gone tomorrow.
            bool vector = llvm::count_if(m[c].shape(), [](int32_t dim) { return dim != 1; }) <= 1;
            if (!vector && !m[c].hasOneUse())
              return decline("the constant has other users, for whom it would have to stay");
            Expr inner =
                cloneRoot().operand(m.positionOf(moved), x).operand(m.positionOf(c), fold(reshape(c, list(*sizes))));
            return m.replace(clone(moved).operand(0, inner.as(m.root().result(), m[x])));
          }};
}

/// reshape(f(reshape(x), c)) → f(reshape(x), c reshaped likewise) where f repeats the former, and only dimensions of
/// size 1 come and go behind it.
static Rule repeated() {
  auto x = any(), c = constant();
  auto moved = anyOf(reshapes, {x}).once();
  auto first = anyWith(Trait::Binary, {moved, c}).mayActivate().once(),
       second = anyWith(Trait::Binary, {c, moved}).mayActivate().once();
  auto shaped = anyOf(reshapes, {first | second});
  return {"repeated", "not the reshape of what is computed of a reshape and a constant", shaped, [=](Match &m) {
            const Expr &f = m.has(first) ? first : second;
            for (Tensor t : {m[x], m[moved], m[f], m[shaped]})
              if (!t.isStatic() || t.rank() > 4 || !t.isPerTensor())
                return decline("the shapes are not known before run time, or it is quantised by channel");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            if (m.op(f).resultCount() != 1 || m.op(f).has(Trait::ShapeQuery) || !m[c].isPerTensor() ||
                m[c].rank() > m[f].rank() || !m[c].hasOneUse() || m[moved].hasShapeOf(m[f]))
              return decline("the constant has other users, or nothing is repeated");
            auto there = carried(m[moved].shape(), m[f].shape(), m[shaped].shape());
            auto beside = carried(m[c].shape(), m[f].shape(), m[shaped].shape());
            if (!there || !beside)
              return decline("more than dimensions of size 1 change");
            unsigned at = m.has(first) ? 0 : 1;
            Expr inner =
                clone(f).operand(at, reshape(x, list(*there))).operand(1 - at, fold(reshape(c, list(*beside))));
            return m.replace(inner.as(m[f], m[shaped]));
          }};
}

/// The axes of a tensor of shape `from` that a reduction of `to`, a reshape of it, goes over; none where a group of
/// dimensions that the reshape joins or divides is reduced in part.
static std::optional<llvm::SmallVector<int32_t, 6>> axesBefore(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int32_t> to,
                                                               llvm::ArrayRef<int32_t> axes) {
  llvm::SmallVector<int32_t, 6> before;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t firstFrom = i, firstTo = j;
    int64_t a = i < from.size() ? from[i++] : 1, b = j < to.size() ? to[j++] : 1;
    while (a != b)
      if (a < b && i < from.size())
        a *= from[i++];
      else if (b < a && j < to.size())
        b *= to[j++];
      else
        return std::nullopt;
    size_t gone = 0, kept = 0; // dimensions of size 1 are neither
    for (size_t d = firstTo; d < j; ++d)
      if (to[d] != 1)
        ++(llvm::is_contained(axes, static_cast<int32_t>(d)) ? gone : kept);
    if (gone && kept)
      return std::nullopt;
    for (size_t d = firstFrom; d < i && gone; ++d)
      before.push_back(static_cast<int32_t>(d));
  }
  return before;
}

/// reduce(reshape(x), axes) → reshape(reduce(x, axes there)), of fewer elements.
static Rule reduction() {
  auto x = any(), axes = constant();
  auto moved = anyOf(reshapes, {x}).once();
  auto reduced = anyWith(Trait::Reduction, {moved, axes});
  return {"reduction", "what is reduced is not the result of a reshape with this use only", reduced, [=](Match &m) {
            if (!m[x].isFloat()) // kernels of integers round by how many dimensions there are
              return decline("not float");
            std::optional<Integers> over = m.integers(m[axes]);
            auto gone = over ? over->axesOf(m[moved].rank()) : std::nullopt;
            if (!gone || !m[x].isStaticButBatch() || !m[moved].isStaticButBatch() || !m[reduced].isStaticButBatch() ||
                (!m[x].isStatic() && llvm::is_contained(*gone, 0)))
              return decline("the axes or the shapes are not known before run time, or an open batch is reduced");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            auto before = m[x].elementCount() == 0 ? std::nullopt : axesBefore(m[x].shape(), m[moved].shape(), *gone);
            if (!before || before->empty() || (!m[x].isStatic() && llvm::is_contained(*before, 0)))
              return decline("a dimension that the reshape joins or divides is reduced in part");
            Expr inner = clone(reduced).operand(0, x).operand(1, over->with(*before));
            return m.replace(reshape(inner, list(m[reduced].statedShape())));
          }};
}

/// f(reshape(x), reshape(y)) → reshape(f(x, y)), of operands of one shape before and after.
static Rule both() {
  auto x = any(), y = any();
  auto a = anyOf(reshapes, {x}).once(), b = anyOf(reshapes, {y}).once();
  auto f = anyWith(Trait::Binary, {a, b}).mayActivate();
  return {"both", "the operands are not the results of reshapes with this use only", f, [=](Match &m) {
            if (!m[x].isStaticButOne() || !m[a].isStaticButOne() || !m[x].hasShapeOf(m[y]) || !m[a].hasShapeOf(m[b]))
              return decline("the operands have different shapes, or these are not known before run time");
            const char *why = forwardRefusal(m, m[x], m[a]);
            if (!why)
              why = movementRefusal(m, m[y], m[b]);
            if (why)
              return decline(why);
            Expr inner = clone(f).operand(m.positionOf(a), x).operand(m.positionOf(b), y).as(m[f], m[x]);
            return m.replace(reshape(inner, list(m[f].statedShape())));
          }};
}

/// softmax(reshape(x)) → reshape(softmax(x)), and likewise of what works along the last dimension alone.
static Rule alongLast() {
  auto x = any();
  auto moved = anyOf(reshapes, {x}).once();
  auto f = anyOf({Op::SOFTMAX, Op::LOG_SOFTMAX, Op::L2_NORMALIZATION}, {moved});
  return {"along-last", "the operand is not the result of a reshape with this use only", f, [=](Match &m) {
            if (!m[x].isFloat() || !m[x].isStaticButOne() || !m[moved].isStaticButOne() || m[x].rank() == 0 ||
                m[x].rank() > 4 || m[moved].rank() == 0)
              return decline("not float of four dimensions at most, or the shapes are not known before run time");
            int32_t last = m[x].statedShape().back();
            if (last < 0 || m[moved].statedShape().back() != last)
              return decline("the last dimension changes, or is open");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            return m.replace(clone(moved).operand(0, clone(f).operand(0, x).as(m[f], m[x])));
          }};
}

/// reshape(softmax(reshape(x))) → softmax(x) where the last dimension stays and the others are put back: also of shapes
/// that only the constants tell.
static Rule between() {
  auto x = any(), there = constant(), back = constant();
  auto moved = op(Op::RESHAPE, {x, there}).once();
  auto f = anyOf({Op::SOFTMAX, Op::LOG_SOFTMAX, Op::L2_NORMALIZATION}, {moved}).once();
  auto shaped = op(Op::RESHAPE, {f, back});
  return {"between", "not the reshape of what works on a reshape, each used once", shaped, [=](Match &m) {
            if (!m[x].isFloat() || !m[x].isStaticButOne() || m[x].rank() == 0 || m[x].rank() > 4)
              return decline("not float of four dimensions at most, or the shape is not known before run time");
            std::optional<Integers> sizes = m.integers(m[there]), home = m.integers(m[back]);
            auto from = m[x].statedShape();
            if (!sizes || !home || sizes->size() == 0 || from.back() < 0 || !sizes->is(sizes->size() - 1, from.back()))
              return decline("the last dimension changes, or is open");
            bool same = home->size() == from.size();
            for (size_t i = 0; same && i < from.size(); ++i)
              same = home->is(i, from[i]) || home->is(i, -1); // of which there is one at most
            return same ? m.replace(clone(f).operand(0, x).as(m[f], m[x])) : decline("another shape comes out");
          }};
}

/// arg_max(reshape(x)) → reshape(arg_max(x)) along the last dimension, which the reshape leaves as it is
static Rule position() {
  auto x = any(), axis = constant();
  auto moved = anyOf(reshapes, {x}).once();
  auto found = anyOf({Op::ARG_MAX, Op::ARG_MIN}, {moved, axis});
  return {"position", "not a position in the result of a reshape with this use only", found, [=](Match &m) {
            std::optional<Integers> along = m.integers(m[axis]);
            if (!along || !along->isLastAxisOf(m[moved].rank()) || !m[x].isStatic() || !m[found].isStatic() ||
                m[x].rank() < 1 || m[x].lastDimension() != m[moved].lastDimension())
              return decline("not along the last dimension, or that changes, or the shapes are not known");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            Expr inner = clone(found).operand(0, x).operand(1, along->with({m[x].rank() - 1}));
            return m.replace(reshape(inner, shapeOf(m[found])));
          }};
}

/// reshape(pad(reshape(x), widths)) → reshape(pad(x, widths there)) where only dimensions of size 1 come and go.
static Rule padding() {
  auto x = any(), widths = constant();
  auto moved = anyOf(reshapes, {x});
  auto padded = anyOf({Op::PAD, Op::PADV2, Op::MIRROR_PAD}, {moved, widths}).once();
  auto shaped = op(Op::RESHAPE, {padded});
  return {"padding", "not the reshape of a reshape that is padded in between", shaped, [=](Match &m) {
            std::optional<Integers> sides = m.integers(m[widths]);
            auto to = m[moved].statedShape(), from = m[x].statedShape();
            if (!sides || sides->size() != 2 * to.size() || llvm::count(to, -1) > 1 || llvm::count(from, -1) > 1)
              return decline("the widths, or two dimensions, are not known before run time");
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            llvm::SmallVector<int32_t, 6> places;
            for (int32_t i = 0; i < static_cast<int32_t>(to.size()); ++i)
              places.push_back(i + 1);
            auto carriedTo = carried(places, to, from); // from which dimension each comes, counted from one
            std::vector<int32_t> here = sides->list(), there(2 * from.size(), 0);
            for (size_t d = 0; carriedTo && d < from.size(); ++d)
              if (from[d] != 1) {
                int32_t place = (*carriedTo)[d] - 1;
                there[2 * d] = here[2 * place];
                there[2 * d + 1] = here[2 * place + 1];
              }
            for (size_t d = 0; d < to.size(); ++d)
              if (!carriedTo || (to[d] == 1 && (here[2 * d] != 0 || here[2 * d + 1] != 0)))
                return decline("more than dimensions of size 1 change, or one of these is padded");
            Expr table = fold(reshape(sides->with(there), list({static_cast<int32_t>(from.size()), 2})));
            Expr inner = clone(padded).operand(0, x).operand(1, table);
            return m.replace(clone(shaped).operand(0, inner));
          }};
}

/// The dimension of a tensor of shape `from` in front of which there are as many elements as in front of `axis` of a
/// reshape of it, which has the shape `to`. An open dimension stands for itself.
static std::optional<int32_t> sameFront(llvm::ArrayRef<int32_t> to, int64_t axis, llvm::ArrayRef<int32_t> from) {
  auto front = [](llvm::ArrayRef<int32_t> sizes) {
    std::pair<size_t, int64_t> product = {llvm::count(sizes, -1), 1};
    for (int32_t size : sizes)
      if (size != -1 && __builtin_mul_overflow(product.second, size, &product.second))
        product.second = 0;
    return product;
  };
  std::optional<int32_t> found;
  for (size_t i = 0; i < from.size(); ++i)
    if (front(from.take_front(i)) == front(to.take_front(axis)) && front(to.take_front(axis)).second != 0)
      found = static_cast<int32_t>(i);
  return found;
}

/// concat(reshape(x), reshape(y), …) → reshape(concat(x, y, …)), of operands that differ in one dimension alone.
static Rule concatenation() {
  auto x = any();
  auto joined = anyOf({Op::CONCATENATION}).each(op(Op::RESHAPE, {x}).once());
  return {"concatenation", "an operand is not the result of a reshape with this use only", joined, [=](Match &m) {
            Tensor first = m.root().operand(0), before = m.at(0, x);
            int64_t axis = m.root().option("axis");
            axis += axis < 0 ? first.rank() : 0;
            if (axis < 0 || axis >= first.rank() || m.root().operandCount() < 2)
              return decline("the axis is none, or there is one operand");
            auto place = sameFront(first.statedShape(), axis, before.statedShape());
            if (!place)
              return decline("the reshape joins the dimension with one in front of it");
            Expr inner = cloneRoot().with("axis", *place);
            for (unsigned i = 0; i < m.root().operandCount(); ++i) {
              auto from = m.at(i, x).statedShape();
              if (from.size() != before.statedShape().size() || llvm::count(from, -1) > 1)
                return decline("the operands have different ranks, or two dimensions are open");
              for (size_t d = 0; d < from.size(); ++d)
                if (static_cast<int32_t>(d) == *place ? from[d] < 1 : from[d] != before.statedShape()[d])
                  return decline("the operands differ in other dimensions as well");
              if (m.root().operand(i).statedShape()[axis] == 1)
                return decline("a stack, which is spelled so for runtimes without PACK");
              if (sameFront(m.root().operand(i).statedShape(), axis, from) != place)
                return decline("the reshapes differ");
              if (const char *why = movementRefusal(m, m.at(i, x), m.root().operand(i)))
                return decline(why);
              inner = inner.operand(i, m.at(i, x));
            }
            if (!m[joined].isPerTensor() || llvm::count(m[joined].statedShape(), -1) > 1)
              return decline("the result is quantised by channel, or has two open dimensions");
            return m.replace(reshape(inner, list(m[joined].statedShape())));
          }};
}

/// pack(reshape(x), reshape(y), …) → reshape(pack(x, y, …)), of operands of one shape, in front of which all are put
static Rule packing() {
  auto x = any();
  auto packed = anyOf({Op::PACK}).each(anyOf(reshapes, {x}).once());
  return {"packing", "an operand is not the result of a reshape with this use only", packed, [=](Match &m) {
            Expr inner = cloneRoot();
            for (unsigned i = 0; i < m.root().operandCount(); ++i) {
              Tensor one = m.at(i, x);
              if (!one.isStatic() || !one.hasShapeOf(m.at(0, x)) || m.root().option("axis") != 0 ||
                  !m[packed].isPerTensor() || !m[packed].isStatic())
                return decline("the operands have different shapes, or are put elsewhere");
              if (const char *why = movementRefusal(m, one, m.root().operand(i)))
                return decline(why);
              inner = inner.operand(i, one);
            }
            return m.replace(reshape(inner, shapeOf(m[packed])));
          }};
}

/// reshape(slice(y)) → slice(reshape(y)) where only dimensions of y of size 1 come and go, and y is a reshape itself,
/// or joined of such.
static Rule slicing() {
  auto begin = constant(), size = constant();
  auto inner = anyOf({Op::RESHAPE}), joined = op(Op::CONCATENATION, {}).each(op(Op::RESHAPE, {any()}));
  auto y = inner | joined;
  auto sliced = op(Op::SLICE, {y, begin, size}).once();
  auto shaped = op(Op::RESHAPE, {sliced});
  return {"slicing", "not the reshape of a slice, used once, of a reshape, or of joined ones", shaped, [=](Match &m) {
            Tensor whole = m.op(sliced).operand(0), part = m[sliced];
            std::optional<Integers> first = m.integers(m[begin]), sizes = m.integers(m[size]);
            if (!first || !sizes || !whole.isStatic() || !part.isStatic() || !m[shaped].isStatic() ||
                !whole.isPerTensor() || !whole.hasQuantizationOf(m[shaped]))
              return decline("the shapes are not known before run time, or quantised by channel");
            llvm::SmallVector<int32_t, 6> shape, from;
            int next = 0;
            auto skipOnes = [&] {
              while (next < whole.rank() && whole.shape()[next] == 1)
                ++next;
            };
            for (int32_t size : m[shaped].shape()) {
              skipOnes();
              bool taken = next < whole.rank() && part.shape()[next] == size;
              if (!taken && size != 1)
                return decline("more than dimensions of size 1 change");
              shape.push_back(taken ? whole.shape()[next] : 1);
              from.push_back(taken ? static_cast<int32_t>(first->at(next)) : 0);
              next += taken;
            }
            skipOnes();
            if (next != whole.rank())
              return decline("more than dimensions of size 1 change");
            Expr flat = reshape(whole, list(shape));
            return m.replace(op(Op::SLICE, {flat, first->with(from), sizes->with(m[shaped].shape())}));
          }};
}

/// Layer normalisation of t = reshape(x) → the same of x, reshaped.
static Rule normalisation() {
  auto x = any();
  Normalisation norm(anyOf(reshapes, {x}).inside());
  return {"normalisation", "not a normalisation of a reshape that nobody else uses", norm.whole, [=](Match &m) {
            Tensor moved = m[norm.moved], epsilon = m[norm.epsilon];
            std::optional<Integers> axes = m.integers(m[norm.axes]), again = m.integers(m[norm.again]);
            if (!axes || !axes->isLastAxisOf(moved.rank()) || !again || !again->isLastAxisOf(moved.rank()) ||
                !m[x].isStaticButBatch() || !moved.isStaticButBatch() || m[x].rank() < 2 || moved.rank() < 2 ||
                m[x].lastDimension() != moved.lastDimension())
              return decline("the means are not over the last dimension alone, or the reshape changes that");
            if (!m[x].isFloat() || epsilon.elementCount() != 1 || epsilon.rank() > m[x].rank())
              return decline("not float, or epsilon is not one number");
            if (const char *why = movementRefusal(m, m[x], moved))
              return decline(why);
            int32_t last = m[x].rank() - 1;
            Expr before = norm.before(m, x, axes->with({last}), again->with({last}));
            return m.replace(reshape(before, list(m[norm.whole].statedShape())));
          }};
}

Pass ForwardReshapes() {
  return {"forward-reshapes",
          "unary(reshape(x)) -> reshape(unary(x)), f(reshape(x), constant) -> reshape(f(x, constant)), "
          "f(reshape(x), reshape(y)) -> reshape(f(x, y)), reduce(reshape(x)) -> reshape(reduce(x)); also padding, "
          "concatenations, packs, positions, layer normalisation and what works along the last dimension",
          Phase::Layout,
          true,
          {{"forward_reshape_to_unaryop", {}}},
          {forward(), withNumber(), withConstant(), repeated(), both(), alongLast(), between(), position(), padding(),
           concatenation(), packing(), normalisation(), reduction(), slicing()}};
}

} // namespace origo
