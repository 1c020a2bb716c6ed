#pragma once

#include "ir/StoragePlan.h"
#include "schema/OperatorFacts.h"

namespace origo::quantize {

/// Whose quantiser a model is to be quantised as: they differ in arithmetic, and in what operators ask for.
enum class Dialect : uint8_t { One, Tflite };

/// How the operator is quantised; Real: it stays as it is.
Scaling scalingOf(BuiltinOperator code, Dialect dialect);
/// Is there any form of it in integers?
inline bool isQuantizable(BuiltinOperator code) {
  return scalingOf(code, Dialect::One) != Scaling::Real || scalingOf(code, Dialect::Tflite) != Scaling::Real;
}
/// The operand that has the scale of input times weights; −1: none.
int biasOf(BuiltinOperator code);

struct FixedScale {
  double scale;
  int64_t zeroPoint;
};
/// Of the result of an operator with Scaling::Fixed; none: not for this type.
std::optional<FixedScale> fixedScale(BuiltinOperator code, TensorType type, Dialect dialect);

/// The least scale that kernels of TensorFlow Lite take for the result beside those that were decided for the operands,
/// where they end their program on a lower one; 0: any.
double leastResultScale(const Operator &op, const StoragePlan::Decision &decision);

/// What kernels of TensorFlow Lite ask of scales and zero points, and find out only when they run: why they would
/// refuse what was decided, or compute other numbers; empty: they would not.
std::string scaleRefusal(const Operator &op, const StoragePlan::Decision &decision);

/// Operand and axis of the weights of an operator of constant weights; none: it has no such.
struct Weights {
  unsigned operand;
  int32_t axis;
};
std::optional<Weights> weightsOf(const Operator &op);
/// The same for schemes of weights alone, in which a table of rows and a constant matrix count, too.
std::optional<Weights> weightsAlone(const Operator &op);

/// The operand that weights are multiplied with.
unsigned inputOf(const Operator &op);

} // namespace origo::quantize
