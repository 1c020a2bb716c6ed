#include "ir/shapes/Rules.h"

/// Operators whose result has the shape of the operands, up to broadcasting.

using namespace origo;
using namespace origo::inference;

namespace {

Answer withType(const Operator &op, TensorType type) {
  auto shape = shapeOf(op, 0);
  if (!shape)
    return noAnswer();
  return one(type, std::move(*shape));
}

Answer broadcastWithType(const Operator &op, TensorType type) {
  if (op.operand(0) && op.operand(1) && typeOf(op, 0) != typeOf(op, 1))
    return fail(op, "operands of types " + tensorTypeName(typeOf(op, 0)) + " and " + tensorTypeName(typeOf(op, 1)));
  auto a = shapeOf(op, 0), b = shapeOf(op, 1);
  if (!a || !b)
    return noAnswer();
  auto shape = broadcast(*a, *b);
  if (!shape)
    return fail(op, "operands that do not broadcast");
  return one(type, std::move(*shape));
}

Answer binary(const Operator &op) { return broadcastWithType(op, typeOf(op, 0)); }
Answer comparison(const Operator &op) { return broadcastWithType(op, TensorType::BOOL); }

Answer dequantize(const Operator &op) {
  return withType(op, statedType(op, TensorType::FLOAT32, {TensorType::FLOAT16, TensorType::BFLOAT16}));
}

/// The type is a choice of whoever makes the operator: what the result is stated as.
Answer statedTypeOfResult(const Operator &op) {
  if (!op.result())
    return noAnswer();
  return withType(op, op.result()->type);
}

Answer cast(const Operator &op) {
  // Old files leave the options out, and some writers leave the types in them at 0.
  const auto *options = optionsOf<circle::CastOptions>(op);
  if (options && options->out_data_type() != TensorType::FLOAT32)
    return withType(op, options->out_data_type());
  return statedTypeOfResult(op);
}

Answer partOfComplex(const Operator &op) {
  return withType(op, typeOf(op, 0) == TensorType::COMPLEX128 ? TensorType::FLOAT64 : TensorType::FLOAT32);
}

Answer bucketize(const Operator &op) { return withType(op, TensorType::INT32); }

/// The first kind of select: no broadcasting but of a condition that is a scalar or picks rows.
Answer select(const Operator &op) {
  auto condition = shapeOf(op, 0), a = shapeOf(op, 1), b = shapeOf(op, 2);
  if (!a || !b)
    return noAnswer();
  if (a->size() != b->size())
    return fail(op, "alternatives of different rank");
  Shape shape;
  for (size_t i = 0; i < a->size(); ++i) {
    auto dim = mergeDim((*a)[i], (*b)[i]);
    if (!dim)
      return fail(op, "alternatives of different shapes");
    shape.push_back(*dim);
  }
  if (condition && condition->size() > 1 && !broadcast(*condition, shape))
    return fail(op, "a condition that does not fit the alternatives");
  return one(typeOf(op, 1), std::move(shape));
}

Answer selectV2(const Operator &op) {
  auto condition = shapeOf(op, 0), a = shapeOf(op, 1), b = shapeOf(op, 2);
  if (!condition || !a || !b)
    return noAnswer();
  auto shape = broadcast(*a, *b);
  if (shape)
    shape = broadcast(*condition, *shape);
  if (!shape)
    return fail(op, "operands that do not broadcast");
  return one(typeOf(op, 1), std::move(*shape));
}

Answer addN(const Operator &op) {
  auto shape = shapeOf(op, 0);
  if (!shape)
    return noAnswer();
  for (unsigned i = 1; i < op.numOperands(); ++i) {
    auto other = shapeOf(op, i);
    if (!other)
      return noAnswer();
    if (other->size() != shape->size())
      return fail(op, "addends of different rank");
    for (size_t d = 0; d < shape->size(); ++d) {
      auto dim = mergeDim((*shape)[d], (*other)[d]);
      if (!dim)
        return fail(op, "addends of different shapes");
      (*shape)[d] = *dim;
    }
  }
  return one(typeOf(op, 0), std::move(*shape));
}

/// min, operand, max: the bounds are scalars or of the operand's shape.
Answer clamp(const Operator &op) {
  auto shape = shapeOf(op, 1);
  if (!shape)
    return noAnswer();
  return one(typeOf(op, 1), std::move(*shape));
}

constexpr RuleRow rules[] = {
    {BuiltinOperator::DEQUANTIZE, dequantize},
    {BuiltinOperator::QUANTIZE, statedTypeOfResult},
    {BuiltinOperator::CAST, cast},
    {BuiltinOperator::STABLEHLO_CONVERT, statedTypeOfResult},
    {BuiltinOperator::IMAG, partOfComplex},
    {BuiltinOperator::REAL, partOfComplex},
    {BuiltinOperator::COMPLEX_ABS, partOfComplex},
    {BuiltinOperator::BUCKETIZE, bucketize},
    {BuiltinOperator::SELECT, select},
    {BuiltinOperator::SELECT_V2, selectV2},
    {BuiltinOperator::STABLEHLO_SELECT, selectV2},
    {BuiltinOperator::STABLEHLO_CLAMP, clamp},
    {BuiltinOperator::ADD_N, addN},
    // Not elementwise, but of the same shape.
    {BuiltinOperator::SOFTMAX, sameAsFirst},
    {BuiltinOperator::LOG_SOFTMAX, sameAsFirst},
    {BuiltinOperator::L2_NORMALIZATION, sameAsFirst},
    {BuiltinOperator::LOCAL_RESPONSE_NORMALIZATION, sameAsFirst},
    {BuiltinOperator::CUMSUM, sameAsFirst},
    {BuiltinOperator::DENSIFY, sameAsFirst},
    {BuiltinOperator::INSTANCE_NORM, sameAsFirst},
    {BuiltinOperator::RMS_NORM, sameAsFirst},
    {BuiltinOperator::ROPE, sameAsFirst},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::elementwiseRules() { return rules; }

Rule inference::traitRule(const OperatorInfo &info) {
  if (info.has(Trait::Unary))
    return sameAsFirst;
  if (info.has(Trait::Binary))
    return info.has(Trait::Comparison) ? comparison : binary;
  return nullptr;
}
