#include "passes/Rule.h"

namespace origo {

/// The axes of x that both go over.
static std::optional<llvm::SmallVector<int32_t, 6>> allAxes(const Integers &inner, const Integers &outer, int rank,
                                                            bool keepsDimensions) {
  auto first = inner.axesOf(rank);
  if (!first)
    return std::nullopt;
  llvm::SmallVector<int32_t, 6> left;
  for (int32_t axis = 0; axis < rank; ++axis)
    if (keepsDimensions || !llvm::is_contained(*first, axis))
      left.push_back(axis);
  auto second = outer.axesOf(static_cast<int>(left.size()));
  if (!second)
    return std::nullopt;
  for (int32_t axis : *second)
    if (!llvm::is_contained(*first, left[axis]))
      first->push_back(left[axis]);
  llvm::sort(*first);
  return first;
}

/// mean(mean(x, a), b) → mean(x, a and b): all parts of which the outer one takes the mean are of the same size; and
/// likewise of what else does not depend on how it is grouped.
static Rule merge(llvm::StringLiteral name, Op code) {
  auto x = any(), a = constant(), b = constant();
  auto inner = op(code, {x, a}).once(), outer = op(code, {inner, b});
  return {name, "not the same of one that is used once", outer, [=](Match &m) {
            bool keeps = m.op(outer).option("keep_dims");
            if (!m[x].isFloat() || !m[outer].isFloat())
              return decline("not float");
            if (m.op(inner).option("keep_dims") != static_cast<int64_t>(keeps))
              return decline("one keeps the dimensions that it goes over, and the other does not");
            std::optional<Integers> first = m.integers(m[a]), second = m.integers(m[b]);
            auto axes = first && second ? allAxes(*first, *second, m[x].rank(), keeps) : std::nullopt;
            if (!axes)
              return decline("the axes are not known, or not of the tensor");
            return m.replace(clone(outer).operand(0, x).operand(1, first->boundTo(*second).with(*axes)));
          }};
}

Pass MergeMeans() {
  return {"merge-means",
          "mean(mean(x, a), b) -> mean(x, a and b), and of sums, maxima and minima likewise",
          Phase::Simplify,
          true,
          {{"fuse_mean_with_mean", {}}},
          {merge("merge", Op::MEAN), merge("sums", Op::SUM), merge("maxima", Op::REDUCE_MAX),
           merge("minima", Op::REDUCE_MIN)}};
}

} // namespace origo
