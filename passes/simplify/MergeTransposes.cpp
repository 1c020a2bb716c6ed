#include "passes/Rule.h"

namespace origo {

/// transpose(transpose(x, p), q) → transpose(x, p∘q), or x where that is the identity.
static Rule merge() {
  auto x = any(), p = constant(), q = constant();
  auto inner = transpose(x, p), outer = transpose(inner, q);
  return {"merge", "not two transposes in a row with constant permutations", outer, [=](Match &m) {
            std::optional<Integers> first = m.integers(m[p]), second = m.integers(m[q]);
            size_t rank = m[x].shape().size();
            if (!first || !second || !first->isPermutation(rank) || !second->isPermutation(rank))
              return decline("not two transposes in a row with constant permutations");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(m[outer]))
              return decline("the inner transpose changes the quantisation");
            if (first->inverse() == *second)
              return m.replace(x);
            return m.replace(clone(outer).operand(0, x).operand(1, fold(gather(p, q))));
          }};
}

/// The dimensions as products of those of two shapes' common refinement; none: they have none.
struct Refinement {
  std::vector<llvm::SmallVector<int32_t, 4>> first, second; ///< numbers of parts, by dimension
  llvm::SmallVector<int64_t, 8> sizes;                      ///< of the parts
};

static std::optional<Refinement> refine(llvm::ArrayRef<int32_t> a, llvm::ArrayRef<int32_t> b) {
  Refinement parts{
      std::vector<llvm::SmallVector<int32_t, 4>>(a.size()), std::vector<llvm::SmallVector<int32_t, 4>>(b.size()), {}};
  int64_t leftA = 1, leftB = 1; // of the dimensions i − 1 and k − 1
  for (size_t i = 0, k = 0;;) {
    while (leftA == 1 && i < a.size())
      leftA = a[i++];
    while (leftB == 1 && k < b.size())
      leftB = b[k++];
    int64_t size = std::min(leftA, leftB);
    if (size <= 1)
      return leftA == leftB && size == 1 ? std::optional(parts) : std::nullopt;
    if (leftA % size || leftB % size)
      return std::nullopt;
    leftA /= size, leftB /= size;
    auto part = static_cast<int32_t>(parts.sizes.size());
    parts.first[i - 1].push_back(part);
    parts.second[k - 1].push_back(part);
    parts.sizes.push_back(size);
  }
}

/// transpose(reshape(transpose(x, p)), q) → reshape(x) where the elements are in their order again.
static Rule throughReshape() {
  auto x = any(), p = constant(), q = constant();
  auto inner = transpose(x, p), shaped = anyOf(reshapes, {inner}), outer = transpose(shaped, q);
  return {"through-reshape", "not two transposes with a reshape between them", outer, [=](Match &m) {
            std::optional<Integers> first = m.integers(m[p]), second = m.integers(m[q]);
            Tensor result = m[outer];
            if (!m[x].isStatic() || !result.isStatic() || !m[shaped].isStatic() || !first || !second ||
                !first->isPermutation(m[x].shape().size()) || !second->isPermutation(m[shaped].shape().size()))
              return decline("the permutations or the shapes are not known");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(result))
              return decline("a movement changes the quantisation");
            std::optional<Refinement> parts = refine(m[inner].shape(), m[shaped].shape());
            if (!parts)
              return decline("the reshape takes dimensions apart");
            llvm::SmallVector<int32_t, 8> before, after;
            for (const auto &dimension : first->inverse().chosen(parts->first))
              before.append(dimension);
            for (const auto &dimension : second->chosen(parts->second))
              after.append(dimension);
            return before == after ? m.replace(reshape(x, shapeOf(result))) : decline("moves elements");
          }};
}

/// transpose(fill(sizes, v), p) → fill(sizes in that order, v)
static Rule filled() {
  auto sizes = constant(), value = any(), p = constant();
  auto filled = op(Op::FILL, {sizes, value}), outer = transpose(filled, p);
  return {"filled", "what is transposed is not one number again and again", outer, [=](Match &m) {
            std::optional<Integers> order = m.integers(m[p]);
            if (!order || !order->isPermutation(m[filled].shape().size()) || !m[filled].hasQuantizationOf(m[outer]))
              return decline("not a permutation, or one that changes the quantisation");
            return m.replace(clone(filled).operand(0, fold(gather(sizes, p))));
          }};
}

Pass MergeTransposes() {
  return {
      "merge-transposes",
      "transpose(transpose(x, p), q) -> transpose(x, p after q), or x where that is the identity; also with a reshape "
      "between them; transpose(fill(sizes, v), p) -> fill(sizes in that order, v)",
      Phase::Simplify,
      true,
      {{"remove_redundant_transpose", {}}, {"convert_nchw_to_nhwc", {}}},
      {merge(), throughReshape(), filled()}};
}

} // namespace origo
