#include "passes/Rule.h"

namespace origo {

/// linear(x, W) of floats and of weights in integers → linear(x, dequantize(W)): a back end unpacks them once.
Pass UnpackHybridWeights() {
  auto x = any(), weights = constant();
  auto linear = anyOf({Op::CONV_2D, Op::DEPTHWISE_CONV_2D, Op::FULLY_CONNECTED}, {x, weights}).mayActivate();
  Rule unpack("weights", "the weights are not constant", linear, [=](Match &m) {
    if (!m[x].isFloat() || !m[linear].isFloat() || !m[weights].isQuantized() || m[weights].type() != TensorType::INT8)
      return decline("not of floats and of weights in 8 bits");
    return m.replace(
        clone(linear).operand(1u, op(Op::DEQUANTIZE, {weights}).synthetic(SyntheticReason::QuantizeBorder)));
  });
  return Pass{"unpack-hybrid-weights",
              "linear(x, W) of float x and W in 8 bits -> linear(x, dequantize(W))",
              Phase::Backend,
              false,
              {},
              {unpack},
              false,
              true}
      .within("what hybrid kernels round numbers by")
      .mending(Mends::HybridToFloat);
}

} // namespace origo
