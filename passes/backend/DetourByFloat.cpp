#include "passes/Rule.h"

namespace origo {

static constexpr llvm::StringLiteral pooling[] = {"padding",      "stride_w",      "stride_h",
                                                  "filter_width", "filter_height", "fused_activation_function"};

/// f(x) in 8 bits → quantize(f(dequantize(x)))
Pass DetourByFloat() {
  auto x = any();
  auto f = anyOf({Op::HARD_SWISH, Op::LEAKY_RELU, Op::TANH, Op::SOFTMAX, Op::LOGISTIC, Op::EXP, Op::SQRT, Op::RSQRT,
                  Op::AVERAGE_POOL_2D},
                 {x})
               .mayActivate();
  Rule detour("float", "not a function in 8 bits", f, [=](Match &m) {
    Node at = m.op(f);
    if (!m[x].isQuantized() || !m[f].isQuantized() || !m[x].isPerTensor() || !m[f].isPerTensor() ||
        !m[x].hasTypeOf(m[f]) || (m[x].type() != TensorType::INT8 && m[x].type() != TensorType::UINT8))
      return decline("not of one operand in 8 bits with one scale");
    const SyntheticReason border = SyntheticReason::QuantizeBorder;
    Expr real = op(at.code(), {op(Op::DEQUANTIZE, {x}).synthetic(border)});
    if (at.code() == Op::LEAKY_RELU)
      real = real.withReal("alpha", at.realOption("alpha"));
    if (at.code() == Op::SOFTMAX)
      real = real.withReal("beta", at.realOption("beta"));
    if (at.code() == Op::AVERAGE_POOL_2D)
      for (llvm::StringLiteral option : pooling)
        real = real.with(option, at.option(option));
    return m.replace(op(Op::QUANTIZE, {real}).as(m[f]).synthetic(border));
  });
  return Pass{"detour-by-float",
              "f(x) in 8 bits -> quantize(f(dequantize(x)))",
              Phase::Backend,
              false,
              {},
              {detour},
              false,
              true}
      .within("a step of the result, for each operator")
      .mending(Mends::WithinOneStep);
}

} // namespace origo
