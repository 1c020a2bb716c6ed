#include "passes/Rule.h"

namespace origo {

/// What a strided slice takes of each dimension, as many as there are and none left out.
struct Strides {
  llvm::SmallVector<int32_t, 6> begin, step;
};
static std::optional<Strides> takenBy(Match &m, Node slice) {
  bool jumps = slice.code() == Op::STRIDED_SLICE;
  std::optional<Integers> begin = m.integers(slice.operand(1)), end = m.integers(slice.operand(2)),
                          steps = jumps ? m.integers(slice.operand(3)) : begin;
  Tensor x = slice.operand(0u);
  auto rank = static_cast<size_t>(x.rank());
  if (!begin || !end || !steps || !x.isStatic() || !slice.result().isStatic() || begin->size() != rank ||
      steps->size() != rank || (jumps && !steps->allPositive()))
    return std::nullopt;
  for (llvm::StringRef mask : {"ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    if (jumps && slice.option(mask) != 0)
      return std::nullopt;
  Strides taken;
  for (size_t i = 0; i < rank; ++i) {
    int64_t first = jumps && (slice.option("begin_mask") >> i & 1) ? 0 : begin->at(i);
    first += first < 0 ? x.shape()[i] : 0;
    if (first < 0 || first >= x.shape()[i])
      return std::nullopt;
    taken.begin.push_back(static_cast<int32_t>(first));
    taken.step.push_back(jumps ? static_cast<int32_t>(steps->at(i)) : 1);
  }
  return taken;
}

/// Why two slices in a row cannot be told as one; else what each takes.
static const char *bothTaken(Match &m, const Expr &inner, const Expr &outer, Strides &first, Strides &second) {
  std::optional<Strides> one = takenBy(m, m.op(inner)), other = takenBy(m, m.op(outer));
  if (!one || !other || m[outer].elementCount() == 0)
    return "the positions or shapes are not known before run time, or dimensions come or go";
  Tensor x = m.op(inner).operand(0u);
  if (!x.isPerTensor() || !x.hasQuantizationOf(m[outer]))
    return "changes the quantisation";
  first = std::move(*one), second = std::move(*other);
  return nullptr;
}

/// strided_slice(strided_slice(x)) → strided_slice(x) where each takes steps along dimensions of its own: the phases of
/// a picture, rows first.
static Rule steps() {
  auto x = any();
  auto inner = op(Op::STRIDED_SLICE, {x}), outer = op(Op::STRIDED_SLICE, {inner});
  return {"steps", "not a strided slice of a strided slice", outer, [=](Match &m) {
            Strides first, second;
            if (const char *why = bothTaken(m, inner, outer, first, second))
              return decline(why);
            llvm::SmallVector<int32_t, 6> end;
            bool jumps = false;
            for (int i = 0; i < m[x].rank(); ++i) {
              int32_t sizes[] = {m[x].shape()[i], m[inner].shape()[i], m[outer].shape()[i]};
              if (sizes[2] < 1 || (sizes[0] != sizes[1] && sizes[1] != sizes[2]))
                return decline("both take a part of one dimension");
              jumps |= first.step[i] > 1 || second.step[i] > 1;
              first.begin[i] += second.begin[i] * first.step[i];
              first.step[i] *= second.step[i];
              end.push_back(first.begin[i] + (sizes[2] - 1) * first.step[i] + 1);
            }
            if (!jumps)
              return decline("no steps, but shares, which are merged otherwise");
            return m.replace(op(Op::STRIDED_SLICE, {x, list(first.begin), list(end), list(first.step)}).as(m[outer]));
          }};
}

/// slice(slice(x)) → slice(x), the inner one used once: dimension after dimension, as PyTorch takes parts.
static Rule parts() {
  auto x = any();
  auto inner = anyOf({Op::SLICE, Op::STRIDED_SLICE}, {x}).once(),
       outer = anyOf({Op::SLICE, Op::STRIDED_SLICE}, {inner});
  return {"parts", "not a slice of a slice that is used once", outer, [=](Match &m) {
            Strides first, second;
            if (const char *why = bothTaken(m, inner, outer, first, second))
              return decline(why);
            llvm::SmallVector<int32_t, 6> end;
            bool jumps = false;
            for (int i = 0; i < m[x].rank(); ++i) {
              first.begin[i] += second.begin[i] * first.step[i];
              first.step[i] = m[outer].shape()[i] == 1 ? 1 : first.step[i] * second.step[i];
              end.push_back(first.begin[i] + (m[outer].shape()[i] - 1) * first.step[i] + 1);
              jumps |= first.step[i] != 1;
            }
            Expr one = jumps ? op(Op::STRIDED_SLICE, {x, list(first.begin), list(end), list(first.step)})
                             : op(Op::SLICE, {x, list(first.begin), shapeOf(m[outer])});
            return m.replace(one.as(m[outer]));
          }};
}

Pass MergeStridedSlices() {
  return {"merge-strided-slices",
          "slice(slice(x)) -> slice(x), strided or not; where others use the inner one, only if each takes steps along "
          "other dimensions",
          Phase::Simplify,
          true,
          {},
          {steps(), parts()}};
}

} // namespace origo
