#include "passes/Rule.h"

namespace origo {

/// reshape(reduce(x)) → reduce(x) with the dimensions kept, or without, where that has the shape.
static Rule shaped() {
  auto x = any(), axes = constant();
  auto reduced = anyWith(Trait::Reduction, {x, axes}).once();
  auto shaped = anyOf(reshapes, {reduced});
  return {"reshaped", "not the reshape of a reduction that is used once", shaped, [=](Match &m) {
            std::optional<Integers> over = m.integers(m[axes]);
            auto gone = over ? over->axesOf(m[x].rank()) : std::nullopt;
            Tensor result = m[shaped];
            if (!gone || !m[x].isStatic() || !result.isStatic() ||
                !m[x].isFloat()) // kernels of integers round by shape
              return decline("not float, or the axes or the shapes are not known before run time");
            for (bool keep : {true, false}) {
              llvm::SmallVector<int32_t, 6> sizes;
              for (int32_t axis = 0; axis < m[x].rank(); ++axis)
                if (!llvm::is_contained(*gone, axis))
                  sizes.push_back(m[x].shape()[axis]);
                else if (keep)
                  sizes.push_back(1);
              if (result.shape() == llvm::ArrayRef<int32_t>(sizes))
                return m.replace(clone(reduced).operand(0, x).with("keep_dims", keep));
            }
            return decline("the reshape does more than to put back dimensions, or to leave them out");
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
      "reshape(reduce(x)) -> reduce(x) that keeps its dimensions, reduce(x, axes) -> reduce(x, axes without those of "
      "one element)",
      Phase::Simplify,
      true,
      {},
      {shaped(), withoutOnes()}};
}

} // namespace origo
