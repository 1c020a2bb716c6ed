#include "passes/Rule.h"

namespace origo {

/// Whether a reduction of `x` over `axes` keeps its dimensions where its result has this shape, of which one dimension
/// at most is open; none: it never has it.
static std::optional<bool> keptFor(llvm::ArrayRef<int32_t> shape, Tensor x, llvm::ArrayRef<int32_t> axes) {
  for (bool keep : {true, false}) {
    llvm::SmallVector<int32_t, 6> sizes;
    for (int32_t axis = 0; axis < x.rank(); ++axis)
      if (!llvm::is_contained(axes, axis))
        sizes.push_back(x.statedShape()[axis]);
      else if (keep)
        sizes.push_back(1);
    if (shape == llvm::ArrayRef<int32_t>(sizes) && llvm::count(sizes, -1) <= 1)
      return keep;
  }
  return std::nullopt;
}

/// reshape(f(reduce(x))) → f(reduce(x) with the dimensions kept, or without), where that has the shape and f is
/// nothing, a sum with a number, a function, or a function of such a sum: the root of a variance.
static Rule shaped(llvm::StringLiteral name, bool withNumber, bool withFunction) {
  auto x = any(), axes = constant(), number = constant();
  auto reduced = anyWith(Trait::Reduction, {x, axes}).once();
  auto shifted = withNumber ? anyWith(Trait::Binary, {reduced, number}).mayActivate().once() : reduced;
  auto function = withFunction ? anyWith(Trait::Unary, {shifted}).once() : shifted;
  auto shaped = anyOf(reshapes, {function});
  return {name, "not the reshape of a reduction, or of what is computed of it alone, that is used once", shaped,
          [=](Match &m) {
            std::optional<Integers> over = m.integers(m[axes]);
            auto gone = over ? over->axesOf(m[x].rank()) : std::nullopt;
            Tensor result = m[shaped];
            if (!gone || !m[x].isFloat()) // kernels of integers round by shape
              return decline("not float, or the axes are not known before run time");
            auto keep = keptFor(result.statedShape(), m[x], *gone);
            if (!keep)
              return decline("the reshape does more than to put back dimensions, or to leave them out");
            if (!m[reduced].hasTypeOf(result) || (withFunction && m.op(function).has(Trait::ShapeQuery)))
              return decline("changes the type");
            if (withNumber && (m[number].elementCount() != 1 || m[number].rank() > result.rank()))
              return decline("the constant is not one number");
            Expr inner = clone(reduced).operand(0, x).with("keep_dims", *keep);
            if (withNumber)
              inner = clone(shifted).operand(m.op(shifted).operand(0) == m[reduced] ? 0 : 1, inner).as(result);
            return m.replace(withFunction ? clone(function).operand(0, inner).as(result) : inner);
          }};
}

/// reduce(x, axes) → reduce(x, those of more than one element): kernels go over neighbouring ones at once, and over
/// others one by one. Dimensions that are left out are so by a reshape, which costs nothing.
static Rule withoutOnes() {
  auto x = any(), axes = constant();
  auto reduced = anyWith(Trait::Reduction, {x, axes});
  return {"ones", "not a reduction over constant axes", reduced, [=](Match &m) {
            std::optional<Integers> over = m.integers(m[axes]);
            auto gone = over ? over->axesOf(m[x].rank()) : std::nullopt;
            if (!gone || !m[x].isStatic() || !m[x].isFloat()) // kernels of integers round by how many axes there are
              return decline("not float, or the axes or the shapes are not known before run time");
            llvm::SmallVector<int32_t, 6> left;
            for (int32_t axis : *gone)
              if (m[x].shape()[axis] != 1)
                left.push_back(axis);
            if (left.empty() || left.size() == gone->size())
              return decline("all axes have more than one element, or none");
            bool keeps = m.op(reduced).option("keep_dims");
            if (!keeps && gone->back() - gone->front() + 1 == static_cast<int32_t>(gone->size()))
              return decline("the axes are neighbours, so that a reshape would be one operator more for nothing");
            Expr inner = clone(reduced).operand(1, over->with(left)).with("keep_dims", 1);
            return m.replace(keeps ? inner
                                   : reshape(inner, shapeOf(m[reduced])).synthetic(SyntheticReason::LayoutBridge));
          }};
}

Pass KeepReducedDimensions() {
  return {
      "keep-reduced-dimensions",
      "reshape(reduce(x)) -> reduce(x) that keeps its dimensions, also where a sum with a number and a function are in "
      "between, reduce(x, axes) -> reduce(x, axes without those of one element)",
      Phase::Simplify,
      true,
      {},
      {shaped("reshaped", false, false), shaped("number", true, false), shaped("function", false, true),
       shaped("root", true, true), withoutOnes()}};
}

} // namespace origo
