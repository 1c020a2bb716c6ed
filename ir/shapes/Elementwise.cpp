#include "ir/shapes/Rules.h"

/// Operators whose result has the shape of the operands, up to broadcasting.

using namespace origo;
using namespace origo::inference;

namespace {

Answer withType(const ShapeSite &op, TensorType type) {
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  return one(type, std::move(*shape));
}

Answer broadcastWithType(const ShapeSite &op, TensorType type) {
  if (op.operand(0) && op.operand(1) && op.type(0) != op.type(1))
    return op.fail("operands of types " + tensorTypeName(op.type(0)) + " and " + tensorTypeName(op.type(1)));
  auto a = op.shape(0), b = op.shape(1);
  if (!a || !b)
    return noAnswer();
  auto shape = broadcast(*a, *b);
  if (!shape)
    return op.fail("operands that do not broadcast");
  return one(type, std::move(*shape));
}

Answer binary(const ShapeSite &op) { return broadcastWithType(op, op.type(0)); }
Answer comparison(const ShapeSite &op) { return broadcastWithType(op, TensorType::BOOL); }

Answer dequantize(const ShapeSite &op) {
  return withType(op, statedType(op, TensorType::FLOAT32, {TensorType::FLOAT16, TensorType::BFLOAT16}));
}

/// The type is a choice of whoever makes the operator: what the result is stated as.
Answer statedTypeOfResult(const ShapeSite &op) {
  if (!op.result())
    return noAnswer();
  return withType(op, op.result()->type);
}

Answer cast(const ShapeSite &op) {
  // Old files leave the options out, and some writers leave the types in them at 0.
  const auto &options = op.options<circle::CastOptions>();
  if (options.out_data_type() != TensorType::FLOAT32)
    return withType(op, options.out_data_type());
  return statedTypeOfResult(op);
}

Answer partOfComplex(const ShapeSite &op) {
  return withType(op, op.type(0) == TensorType::COMPLEX128 ? TensorType::FLOAT64 : TensorType::FLOAT32);
}

Answer bucketize(const ShapeSite &op) { return withType(op, TensorType::INT32); }

/// The first kind of select: no broadcasting but of a condition that is a scalar or picks rows.
Answer select(const ShapeSite &op) {
  auto condition = op.shape(0), a = op.shape(1), b = op.shape(2);
  if (!a || !b)
    return noAnswer();
  if (a->size() != b->size())
    return op.fail("alternatives of different rank");
  Shape shape;
  for (size_t i = 0; i < a->size(); ++i) {
    auto dim = mergeDim((*a)[i], (*b)[i]);
    if (!dim)
      return op.fail("alternatives of different shapes");
    shape.push_back(*dim);
  }
  // It stands for elements, for whole rows (it has one dimension), or for everything (a scalar).
  bool fits = !condition || condition->empty() || condition->size() == shape.size() ||
              (condition->size() == 1 && !shape.empty());
  for (size_t i = 0; fits && condition && i < condition->size(); ++i)
    fits = mergeDim((*condition)[i], shape[i]).has_value();
  if (!fits)
    return op.fail("a condition that does not fit the alternatives");
  return one(op.type(1), std::move(shape));
}

Answer selectV2(const ShapeSite &op) {
  auto condition = op.shape(0), a = op.shape(1), b = op.shape(2);
  if (!condition || !a || !b)
    return noAnswer();
  auto shape = broadcast(*a, *b);
  if (shape)
    shape = broadcast(*condition, *shape);
  if (!shape)
    return op.fail("operands that do not broadcast");
  return one(op.type(1), std::move(*shape));
}

Answer addN(const ShapeSite &op) {
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  for (unsigned i = 1; i < op.numOperands(); ++i) {
    auto other = op.shape(i);
    if (!other)
      return noAnswer();
    if (other->size() != shape->size())
      return op.fail("addends of different rank");
    for (size_t d = 0; d < shape->size(); ++d) {
      auto dim = mergeDim((*shape)[d], (*other)[d]);
      if (!dim)
        return op.fail("addends of different shapes");
      (*shape)[d] = *dim;
    }
  }
  return one(op.type(0), std::move(*shape));
}

/// The same bytes as elements of another size: smaller ones get a dimension of their own, larger ones take the last.
Answer bitcast(const ShapeSite &op) {
  auto shape = op.shape(0);
  if (!shape || !op.result())
    return noAnswer();
  auto from = bitsPerElement(op.type(0)), to = bitsPerElement(op.result()->type);
  if (!from || !to || (*from > *to ? *from % *to : *to % *from) != 0)
    return op.fail("types of no size, or that do not divide each other");
  if (*from > *to)
    shape->push_back(static_cast<int32_t>(*from / *to));
  if (*from < *to) {
    if (shape->empty() || !mergeDim(shape->back(), static_cast<int32_t>(*to / *from)))
      return op.fail("a last dimension that does not fill elements of the result");
    shape->pop_back();
  }
  return one(op.result()->type, std::move(*shape));
}

Answer cumsum(const ShapeSite &op) {
  auto shape = op.shape(0);
  auto axis = op.value(1);
  if (!isSingle(op, 1) || (shape && axis && !axisIn(*axis, shape->size())))
    return op.fail("an axis that is out of range, or not a single number");
  return sameAsFirst(op);
}

/// min, operand, max: the bounds are scalars or of the operand's shape.
Answer clamp(const ShapeSite &op) {
  auto shape = op.shape(1);
  if (!shape)
    return noAnswer();
  return one(op.type(1), std::move(*shape));
}

constexpr RuleRow elementwiseRows[] = {
    {BuiltinOperator::DEQUANTIZE, dequantize},
    {BuiltinOperator::QUANTIZE, statedTypeOfResult},
    {BuiltinOperator::CAST, cast},
    {BuiltinOperator::BITCAST, bitcast},
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
    {BuiltinOperator::CUMSUM, cumsum},
    {BuiltinOperator::DENSIFY, sameAsFirst},
    {BuiltinOperator::INSTANCE_NORM, sameAsFirst},
    {BuiltinOperator::RMS_NORM, sameAsFirst},
    {BuiltinOperator::ROPE, sameAsFirst},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::elementwiseRules() { return elementwiseRows; }

Rule inference::traitRule(const OperatorInfo &info) {
  if (info.has(Trait::Unary))
    return sameAsFirst;
  if (info.has(Trait::Binary))
    return info.has(Trait::Comparison) ? comparison : binary;
  return nullptr;
}
