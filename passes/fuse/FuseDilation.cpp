#include "passes/Extents.h"
#include "passes/Linear.h"

namespace origo {

/// batch_to_space(conv(space_to_batch(x))) → conv(x) with a dilation, which is what the phases of a picture are for;
/// also of a sequence, which has one more dimension around the convolution. What the first pads and the last crops is
/// padding of the convolution, or a PAD where it has no name. Both may be computed from the sizes of the picture, to
/// fill the last phases, if what stays of them is the same for all sizes.
static Rule phases() {
  auto x = any(), block = constant(), again = constant(), widths = any(), crops = any();
  auto spread = op(Op::SPACE_TO_BATCH_ND, {x, block, widths}).once();
  auto inner = anyOf(reshapes, {spread}).once() | spread;
  auto convolution = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D}, {inner}).mayActivate().once();
  auto outer = anyOf(reshapes, {convolution}).once() | convolution;
  auto whole = op(Op::BATCH_TO_SPACE_ND, {outer, again, crops});
  return {"phases", "not a convolution between space_to_batch and batch_to_space", whole, [=](Match &m) {
            Node conv = m.op(convolution);
            std::optional<Integers> sizes = m.integers(m[block]), back = m.integers(m[again]);
            std::optional<Extents> around = m.extents(m[widths], m[x]), off = m.extents(m[crops], m[x]);
            auto rank = static_cast<size_t>(m[x].rank());
            bool isSequence = rank == 3;
            if (!sizes || !back || !around || !off || !(*sizes == *back) || rank < 3 || rank > 4 ||
                sizes->size() != rank - 2 || around->size() != 2 * sizes->size() || off->size() != around->size())
              return decline("the blocks are not the same, or not of one picture or sequence");
            Tensor first = conv.operand(0u), last = conv.result(), result = m[whole], filter = conv.operand("filter");
            if (conv.option("stride_h") != 1 || conv.option("stride_w") != 1 || conv.option("dilation_h_factor") != 1 ||
                conv.option("dilation_w_factor") != 1 || first.rank() != 4 || last.rank() != 4 || filter.rank() != 4 ||
                !filter.isStatic())
              return decline("the convolution has strides, or a dilation of its own");
            if (first.isFloat() && !filter.isFloat())
              return decline("hybrid kernels quantise each phase by itself");
            if (isSequence &&
                (first.statedShape()[1] != 1 || last.statedShape()[1] != 1 || filter.shape()[1] != 1 ||
                 first.lastDimension() != m[x].lastDimension() || last.lastDimension() != result.lastDimension() ||
                 llvm::count(m[x].statedShape(), -1) > 1 || llvm::count(result.statedShape(), -1) > 1))
              return decline("the sequence does not lie along the width");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(first) || !last.hasQuantizationOf(result))
              return decline("changes the quantisation");
            bool same = conv.option("padding") == static_cast<int64_t>(circle::Padding::SAME), isSame = true,
                 isValid = true;
            llvm::SmallVector<int32_t, 8> padded(8, 0);
            for (size_t i = 0; i < sizes->size(); ++i) {
              size_t axis = i + (isSequence ? 2 : 1);
              int64_t b = sizes->at(i), reach = (filter.shape()[axis] - 1) * b;
              int64_t inside = same ? (filter.shape()[axis] - 1) / 2 * b : 0;
              std::optional<int64_t> front = around->more(2 * i, *off), behind = around->more(2 * i + 1, *off);
              if (!front || !behind)
                return decline("what stays of the padding depends on the size");
              int64_t before = *front + inside, after = *behind + (same ? reach - inside : 0);
              if (b < 1 || before < 0 || after < 0 || reach > INT32_MAX || before > INT32_MAX || after > INT32_MAX)
                return decline("more is cropped than padded");
              isValid &= before == 0 && after == 0;
              isSame &= before == reach / 2 && before + after == reach;
              padded[2 * axis] = static_cast<int32_t>(before), padded[2 * axis + 1] = static_cast<int32_t>(after);
            }
            auto shaped = [&](Tensor like) {
              llvm::SmallVector<int32_t, 4> shape(like.statedShape());
              shape.insert(shape.begin() + 1, 1);
              return shape;
            };
            Expr input = isSequence ? reshape(x, list(shaped(m[x]))) : Expr(x);
            if (!isValid && !isSame) {
              Integers table = around->with(padded, *off).boundTo(*sizes);
              input = op(Op::PAD, {input, fold(reshape(table, list({4, 2})))});
            }
            auto padding = isSame && !isValid ? circle::Padding::SAME : circle::Padding::VALID;
            int64_t high = isSequence ? 1 : sizes->at(0), wide = sizes->at(isSequence ? 0 : 1);
            Expr dilated = clone(convolution).operand(0u, input).with("padding", static_cast<int64_t>(padding));
            dilated = dilated.with("dilation_h_factor", high).with("dilation_w_factor", wide);
            return m.replace(isSequence ? reshape(dilated, list(result.statedShape())) : dilated);
          }};
}

Pass FuseDilation() {
  return {"fuse-dilation", "batch_to_space(conv(space_to_batch(x))) -> conv(x) with a dilation", Phase::Fuse, true, {},
          {phases()}};
}

} // namespace origo
