#include "passes/layout/Forward.h"

namespace origo {

static const int32_t first[] = {0, 3, 1, 2}, last[] = {0, 2, 3, 1};

static Expr turned(Expr x, llvm::ArrayRef<int32_t> permutation) {
  return transpose(x, list(permutation)).synthetic(SyntheticReason::LayoutBridge);
}

/// A constant operand as it is with channels last: its rank is filled up with ones in front.
static Expr turnedConstant(Tensor c) {
  if (c.elementCount() == 1)
    return c;
  llvm::SmallVector<int32_t, 4> full(4 - c.shape().size(), 1);
  full.append(c.shape().begin(), c.shape().end());
  return fold(transpose(c.shape().size() == 4 ? Expr(c) : reshape(c, list(full)), list(last)));
}

/// f(x, …) → back(f(turned(x), …)): what turns x and what turns it back meet others, and go.
static Rule elementwise(llvm::StringLiteral name, Expr f) {
  return {name, "not an operator that works on pictures of either layout", f, [=](Match &m) {
            if (!m.wantsChannelsLast())
              return decline("turning it would not save transposes");
            Node at = m.root();
            Expr inner = cloneRoot();
            for (unsigned i = 0; i < at.operandCount(); ++i) {
              Tensor x = at.operand(i);
              if (x.isConstant() && (!x.isDenseConstant() || !x.isPerTensor() || x.rank() > 4))
                return decline("a constant is not dense, of a higher rank, or quantised by channel");
              inner = inner.operand(i, x.isConstant() ? turnedConstant(x) : turned(x, last));
            }
            return m.replace(turned(inner, first));
          }};
}

/// pad(x, widths) → back(pad(turned(x), widths turned))
static Rule padding() {
  auto x = any(), widths = constant();
  auto padded = anyOf({Op::PAD, Op::PADV2, Op::MIRROR_PAD}, {x, widths});
  return {"padding", "the widths are not constant", padded, [=](Match &m) {
            if (!m.wantsChannelsLast())
              return decline("turning it would not save transposes");
            Expr back = fold(gather(widths, list(last)));
            return m.replace(turned(clone(padded).operand(0, turned(x, last)).operand(1, back), first));
          }};
}

/// concat(x, …) along an axis → back(concat(turned(x), …)) along the axis where that is then
static Rule concatenation() {
  auto joined = anyOf({Op::CONCATENATION}).mayActivate();
  return {"concatenation", "", joined, [=](Match &m) {
            if (!m.wantsChannelsLast())
              return decline("turning it would not save transposes");
            int64_t axis = m.root().option("axis");
            axis += axis < 0 ? 4 : 0;
            if (axis < 0 || axis > 3)
              return decline("the axis is none of the dimensions");
            Expr inner = cloneRoot().with("axis", int64_t{first[axis]});
            for (unsigned i = 0; i < m.root().operandCount(); ++i)
              inner = inner.operand(i, turned(m.root().operand(i), last));
            return m.replace(turned(inner, first));
          }};
}

Pass ConvertToChannelsLast() {
  return {"convert-to-channels-last",
          "f(x) -> transpose(f(transpose(x))) for pictures, in regions around which transposes then cancel",
          Phase::Layout,
          false,
          {{"convert_nchw_to_nhwc", {}}},
          {elementwise("unary", anyWith(Trait::Unary)), elementwise("binary", anyWith(Trait::Binary).mayActivate()),
           padding(), concatenation()}};
}

} // namespace origo
