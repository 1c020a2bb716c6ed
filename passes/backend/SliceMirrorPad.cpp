#include "passes/Rule.h"

namespace origo {

/// mirror_pad(x) → a concatenation of slices of x, dimension by dimension.
static Rule bySlices() {
  auto x = any(), widths = constant();
  auto padded = op(Op::MIRROR_PAD, {x, widths});
  return {"slices", "the widths are not constant", padded, [=](Match &m) {
            Tensor from = m[x];
            std::optional<Integers> by = m.integers(m[widths]);
            const int rank = from.rank();
            if (!by || !from.isStatic() || by->size() != 2 * static_cast<size_t>(rank) || !m[x].isPerTensor() ||
                !m[x].hasQuantizationOf(m[padded]))
              return decline("the widths or the shape are not known before run time, or the scale changes");
            int32_t skipped = m.op(padded).option("mode") == 0 ? 1 : 0; // REFLECT leaves out the border itself
            constexpr int32_t most = 4;
            llvm::SmallVector<int32_t, 6> shape(from.shape());
            std::vector<int32_t> widths = by->list();
            Expr value = x;
            bool any = false;
            for (int axis = 0; axis < rank; ++axis) {
              int32_t before = widths[2 * axis], behind = widths[2 * axis + 1], size = shape[axis];
              if (before < 0 || behind < 0 || std::max(before, behind) > std::min(most, size - skipped))
                return decline("more than four rows on one side, or more than there are");
              if (before == 0 && behind == 0)
                continue;
              any = true;
              auto row = [&, from = value](int32_t i) {
                llvm::SmallVector<int32_t, 6> begin(rank, 0), one(shape);
                begin[axis] = i;
                one[axis] = 1;
                return op(Op::SLICE, {from, list(begin), list(one)});
              };
              std::vector<Expr> rows;
              for (int32_t i = before; i > 0; --i)
                rows.push_back(row(i - 1 + skipped));
              rows.push_back(value);
              for (int32_t i = 0; i < behind; ++i)
                rows.push_back(row(size - 1 - skipped - i));
              value = op(Op::CONCATENATION, rows).with("axis", axis);
              shape[axis] += before + behind;
            }
            return any ? m.replace(value) : decline("pads nothing");
          }};
}

Pass SliceMirrorPad() {
  return Pass{"slice-mirror-pad",
              "mirror_pad(x) -> a concatenation of rows of x, on each side at most four",
              Phase::Backend,
              false,
              {},
              {bySlices()}}
      .mending();
}

} // namespace origo
