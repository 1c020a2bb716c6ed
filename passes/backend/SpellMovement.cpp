#include "passes/Rule.h"

namespace origo {

/// Movements in the words of fewer operators, for back ends that know few.

/// pack(a, b, …) → concatenation(reshape(a), reshape(b), …)
static Rule packed() {
  auto packed = op(Op::PACK, {});
  return {"pack", "not a pack", packed, [=](Match &m) {
            Node at = m.op(packed);
            Tensor result = m[packed];
            int32_t axis = static_cast<int32_t>(at.option("axis"));
            axis = axis < 0 ? axis + result.rank() : axis;
            bool fits = result.isStatic() && result.isPerTensor() && axis >= 0 && axis < result.rank();
            for (unsigned i = 0; i < at.operandCount(); ++i)
              fits &= at.operand(i) && at.operand(i).hasQuantizationOf(result);
            if (!fits)
              return decline("the shape is not known before run time, or the scale changes");
            llvm::SmallVector<int32_t, 6> shape(result.shape());
            shape[axis] = 1;
            std::vector<Expr> parts;
            for (unsigned i = 0; i < at.operandCount(); ++i)
              parts.push_back(reshape(at.operand(i), list(shape)));
            return m.replace(op(Op::CONCATENATION, parts).with("axis", axis));
          }};
}

/// unpack(x) → reshape(slice(x)), for each
static Rule unpacked() {
  auto x = any();
  auto unpacked = op(Op::UNPACK, {x});
  return {"unpack", "not an unpack", unpacked, [=](Match &m) {
            Node at = m.op(unpacked);
            Tensor from = m[x];
            int32_t axis = static_cast<int32_t>(at.option("axis"));
            axis = axis < 0 ? axis + from.rank() : axis;
            bool fits =
                from.isStatic() && from.isPerTensor() && axis >= 0 && axis < from.rank() && at.resultCount() <= 64;
            for (unsigned i = 0; i < at.resultCount(); ++i)
              fits &= at.result(i) && at.result(i).isStatic() && at.result(i).hasQuantizationOf(from);
            if (!fits)
              return decline("the shape is not known before run time, the scale changes, or there are many parts");
            std::vector<std::pair<Tensor, Expr>> parts;
            for (unsigned i = 0; i < at.resultCount(); ++i) {
              Tensor part = at.result(i);
              llvm::SmallVector<int32_t, 6> begin(from.rank(), 0), size(from.shape());
              begin[axis] = static_cast<int32_t>(i);
              size[axis] = 1;
              parts.emplace_back(part, reshape(op(Op::SLICE, {x, list(begin), list(size)}), shapeOf(part)));
            }
            return m.replace(std::move(parts));
          }};
}

/// slice(x, begin, [−1 …]) → slice(x, begin, sizes)
static Rule sized() {
  auto x = any(), begin = constant(), size = constant();
  auto sliced = op(Op::SLICE, {x, begin, size});
  return {"slice", "not a slice by constants", sliced, [=](Match &m) {
            std::optional<Integers> sizes = m.integers(m[size]);
            if (!sizes || !m[sliced].isStatic() ||
                llvm::none_of(sizes->list(), [](int32_t number) { return number < 0; }))
              return decline("says its sizes already");
            return m.replace(clone(sliced).operand(2, sizes->with(m[sliced].shape())));
          }};
}

/// strided_slice(x) of stride 1 that leaves dimensions out → reshape(slice(x))
static Rule shrunk() {
  auto x = any(), begin = constant(), end = constant(), strides = constant();
  auto sliced = op(Op::STRIDED_SLICE, {x, begin, end, strides});
  return {"strided-slice", "not a strided slice by constants", sliced, [=](Match &m) {
            std::optional<Integers> first = m.integers(m[begin]), steps = m.integers(m[strides]),
                                    last = m.integers(m[end]);
            Node at = m.op(sliced);
            Tensor from = m[x], to = m[sliced];
            const int rank = from.rank();
            if (!first || !steps || !last || !from.isStatic() || !to.isStatic() || !from.isPerTensor() ||
                !from.hasQuantizationOf(to) || first->size() != static_cast<size_t>(rank) ||
                last->size() != first->size() || steps->size() != first->size() || at.option("ellipsis_mask") != 0 ||
                at.option("new_axis_mask") != 0)
              return decline("the shape is not known before run time, or it has new axes");
            int64_t shrink = at.option("shrink_axis_mask"), open = at.option("begin_mask"),
                    whole = at.option("end_mask");
            llvm::SmallVector<int32_t, 6> from1, size;
            for (int axis = 0; axis < rank; ++axis) {
              int64_t bit = int64_t{1} << axis, length = from.shape()[axis];
              int64_t low = first->at(axis), high = last->at(axis);
              low = low < 0 ? low + length : low;
              high = high < 0 ? high + length : high;
              if (!steps->is(axis, 1))
                return decline("takes every few, or backwards");
              if (shrink & bit) {
                high = low + 1;
              } else {
                low = open & bit ? 0 : std::clamp<int64_t>(low, 0, length);
                high = whole & bit ? length : std::clamp<int64_t>(high, 0, length);
              }
              if (low < 0 || high > length || high <= low)
                return decline("takes nothing, or what is not there");
              from1.push_back(static_cast<int32_t>(low));
              size.push_back(static_cast<int32_t>(high - low));
            }
            Expr part = op(Op::SLICE, {x, first->boundTo(*last).boundTo(*steps).with(from1), list(size)});
            return m.replace(llvm::ArrayRef<int32_t>(size) == to.shape() ? part : reshape(part, shapeOf(to)));
          }};
}

/// concatenation(a, b, …) of many → concatenation(concatenation(a, b, …), …)
static Rule joined() {
  auto joined = op(Op::CONCATENATION, {});
  return {"concatenation", "not a concatenation", joined, [=](Match &m) {
            Node at = m.op(joined);
            constexpr unsigned few = 4;
            if (at.operandCount() <= few || at.operandCount() > few * few)
              return decline("of few, or of very many");
            for (unsigned i = 0; i < at.operandCount(); ++i)
              if (!at.operand(i) || !at.operand(i).isStatic() || !at.operand(i).hasQuantizationOf(m[joined]))
                return decline("the shape of a part is not known before run time, or the scale changes");
            int64_t axis = at.option("axis");
            std::vector<Expr> groups;
            for (unsigned i = 0; i < at.operandCount(); i += few) {
              std::vector<Expr> group;
              for (unsigned k = i; k < std::min(i + few, at.operandCount()); ++k)
                group.push_back(at.operand(k));
              groups.push_back(group.size() == 1 ? group[0] : op(Op::CONCATENATION, group).with("axis", axis));
            }
            return m.replace(op(Op::CONCATENATION, groups).with("axis", axis));
          }};
}

/// split(x) into many → slice(x), for each
static Rule divided() {
  auto axisOf = constant(), x = any();
  auto split = op(Op::SPLIT, {axisOf, x});
  return {"split", "not a split along a constant axis", split, [=](Match &m) {
            Node at = m.op(split);
            Tensor from = m[x];
            std::optional<Integers> number = m.integers(m[axisOf]);
            unsigned count = at.resultCount();
            bool fits = number && number->size() == 1 && from.isStatic() && from.isPerTensor() && count <= 64;
            for (unsigned i = 0; i < count; ++i)
              fits &= at.result(i) && at.result(i).isStatic() && at.result(i).hasQuantizationOf(from);
            int64_t axis = fits ? number->at(0) + (number->at(0) < 0 ? from.rank() : 0) : -1;
            if (axis < 0 || axis >= from.rank())
              return decline("what is split is of no known shape and scale, or there are many parts");
            std::vector<std::pair<Tensor, Expr>> parts;
            for (unsigned i = 0; i < count; ++i) {
              Tensor part = at.result(i);
              llvm::SmallVector<int32_t, 6> begin(from.rank(), 0);
              begin[axis] = static_cast<int32_t>(i) * part.shape()[axis];
              parts.emplace_back(part, op(Op::SLICE, {x, number->with(begin), shapeOf(part)}));
            }
            return m.replace(std::move(parts));
          }};
}

Pass SpellMovement() {
  return Pass{"spell-movement",
              "pack, unpack, split, strided_slice, slice to the end, concatenation of many -> reshape, slice, "
              "concatenation of few",
              Phase::Backend,
              false,
              {},
              {packed(), unpacked(), sized(), shrunk(), joined(), divided()}}
      .mending();
}

} // namespace origo
