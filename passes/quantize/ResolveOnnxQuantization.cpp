#include "passes/Attributes.h"

#include <cmath>

namespace origo {

static bool isAboveZero(double scale) { return scale > 0 && std::isfinite(scale); }
static bool isNumber(double zero) { return std::isfinite(zero); }

/// CUSTOM "ONNXDequantizeLinear"(CUSTOM "ONNXQuantizeLinear"(x, s, z), s, z) → dequantize(quantize(x))
static Rule pair() {
  auto x = any(), scale = constant(), zero = constant();
  auto rounded = custom("ONNXQuantizeLinear", {x, scale, zero});
  auto real = custom("ONNXDequantizeLinear", {rounded, scale, zero});
  return {"pair", "what is widened was not quantised before, by the same numbers", real, [=](Match &m) {
            if (!m[rounded].isQuantized() || !m[x].isFloat() || !m.root().result().isFloat() ||
                !m.every(m[scale], isAboveZero) || !m.every(m[zero], isNumber))
              return decline("nobody has noted its scale");
            return m.replace(op(Op::DEQUANTIZE, {op(Op::QUANTIZE, {x}).as(m[rounded])}));
          }};
}

/// CUSTOM "ONNXDequantizeLinear"(c, s, z) → s · (c − z), a constant
static Rule weights() {
  auto c = constant(), scale = constant(), zero = constant();
  auto real = custom("ONNXDequantizeLinear", {c, scale, zero});
  return {"constant", "not a constant with constant scales", real, [=](Match &m) {
            Tensor result = m.root().result();
            if (m[c].isFloat() || !m[scale].isFloat() || !result.isFloat() || !m[c].hasShapeOf(result) ||
                m[scale].elementCount() != m[zero].elementCount())
              return decline("no integers with a scale of floats");
            std::vector<int32_t> shape = {1};
            if (m[scale].elementCount() != 1) {
              std::optional<size_t> axis = axisIn(m.op(real).customOptions(), m[c].rank());
              if (!axis || m[scale].elementCount() != m[c].shape()[*axis])
                return decline("not a scale for each index of its axis");
              shape.assign(m[c].shape().size(), 1);
              shape[*axis] = m[c].shape()[*axis];
            }
            auto floats = [](Expr integers) { return op(Op::CAST, {std::move(integers)}); }; // to floats, by default
            Expr s = op(Op::RESHAPE, {scale, list(shape)}), z = op(Op::RESHAPE, {zero, list(shape)});
            return m.replace(fold((floats(c) - floats(z)) * s));
          }};
}

Pass ResolveOnnxQuantization() {
  return Pass{"resolve-onnx-quantization",
              "custom ONNXDequantizeLinear(ONNXQuantizeLinear(x, s, z), s, z) -> dequantize(quantize(x)), and of a "
              "constant c -> s*(c - z)",
              Phase::Quantize,
              false,
              {},
              {pair(), weights()},
              /*mergesConstants=*/false}
      .about("`circle-quantizer --quantize_onnx_fq_model` notes the scales of pairs beforehand, and stores tensors and "
             "constants by them afterwards.");
}

} // namespace origo
