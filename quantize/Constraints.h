#pragma once

#include "ir/StoragePlan.h"

namespace origo::quantize {

/// Whose quantiser a model is to be quantised as: they differ in arithmetic, and in what operators ask for.
enum class Dialect : uint8_t { One, Tflite };

/// How the scales of an operator's operands and results hang together.
enum class Scaling : uint8_t {
  Real,    ///< there is no form of it in integers
  Free,    ///< each has its own
  AsInput, ///< results have that of the first operand that is quantised
  Shared,  ///< operands have that of the result
  Fixed,   ///< the result's is given: fixedScale
  Whole,   ///< results are whole numbers, so the scale is one too
};

/// What quantising has to know of an operator: its one row. Which operands are weights, and their axis of channels, is
/// eval::channelAxes(); which types a kernel takes is asked of the kernels.
struct Constraint {
  BuiltinOperator code;
  Scaling one, tflite;
  int bias = -1; ///< the operand that has the scale of input times weights
  bool tflite16 = true; ///< TensorFlow Lite's runtime has it in 16 bits

  Scaling scaling(Dialect dialect) const { return dialect == Dialect::One ? one : tflite; }
};

/// Null: the operator stays as it is.
const Constraint *constraintOf(BuiltinOperator code);

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
