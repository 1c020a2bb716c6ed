#pragma once

#include "quantize/Scheme.h"

/// Models that ONNX has quantised in name only: floats pass through pairs of the custom operators ONNXQuantizeLinear
/// and ONNXDequantizeLinear(x, scale, zero point), and weights are integers behind the latter.
namespace origo::quantize {

/// What they say of how to store a model.
struct OnnxFakes {
  /// A constant that becomes floats, and who reads it.
  struct Weights {
    Operator *user;
    unsigned operand;
    TensorType type;
    Quantization quantization;
  };
  std::vector<Weights> weights;
  std::vector<Value *> noted; ///< integers between a pair, which have scales until the pair is gone
};

/// Notes the scales of pairs as ranges of the tensors in front of them, and those of weights at these; asks `scheme` to
/// store each operator's tensors in the type that its pair has, or else its operands, and where nothing says a type in
/// 16 bits. What only moves numbers has the range of what it moves. Linear. An error: there is no such pair. Nothing of
/// the model may be dead or there twice: a pass that removes it comes before.
llvm::Expected<OnnxFakes> readOnnxFakes(Model &model, Scheme &scheme);

/// When the weights are floats: they have the scales that they had. Integers that are still between a pair have none.
void keepScales(Model &model, const OnnxFakes &fakes);

} // namespace origo::quantize
