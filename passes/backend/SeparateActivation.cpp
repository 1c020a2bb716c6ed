#include "passes/Rule.h"

namespace origo {

/// transpose_conv(x, W) with a fused activation → the activation of it, for back ends whose TransposeConv has none.
static Rule separate() {
  auto shape = any(), filter = any(), x = any(), bias = optional();
  auto conv = op(Op::TRANSPOSE_CONV, {shape, filter, x, bias}).mayActivate();
  return {"separate", "", conv, [=](Match &m) {
            Activation activation = m.op(conv).activation();
            if (activation != Activation::RELU && activation != Activation::RELU6)
              return decline("neither RELU nor RELU6 is fused");
            if (!m[conv].isFloat())
              return decline("not float");
            Expr plain = op(Op::TRANSPOSE_CONV, {shape, filter, x, bias});
            for (auto option :
                 {llvm::StringLiteral("padding"), llvm::StringLiteral("stride_w"), llvm::StringLiteral("stride_h")})
              plain = plain.with(option, m.op(conv).option(option));
            return m.replace(activation == Activation::RELU ? relu(plain) : relu6(plain));
          }};
}

Pass SeparateActivation() {
  return {"separate-activation",
          "transpose_conv(x, W) with a fused relu -> relu(transpose_conv(x, W))",
          Phase::Backend,
          false,
          {},
          {separate()}};
}

} // namespace origo
