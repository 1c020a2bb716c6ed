#include "ir/shapes/Rules.h"

/// Reductions over axes, segments, and the diagonal operators.

using namespace origo;
using namespace origo::inference;

namespace {

Answer reduceWithType(const Operator &op, TensorType type) {
  auto input = shapeOf(op, 0);
  if (!input)
    return noAnswer();
  const auto *options = optionsOf<circle::ReducerOptions>(op);
  bool keepDims = options && options->keep_dims();
  auto axes = readIntegers(op.operand(1));
  if (!axes)
    return keepDims ? one(type, unknownShape(input->size())) : unranked(type);
  llvm::SmallVector<bool> reduced(input->size(), false);
  for (int64_t axis : *axes) {
    auto index = axisIn(axis, input->size());
    // The runtime does not look at the axes of a scalar.
    if (!index && !input->empty())
      return fail(op, "axis " + llvm::Twine(axis) + " is out of range");
    if (index)
      reduced[*index] = true;
  }
  Shape shape;
  for (size_t i = 0; i < input->size(); ++i) {
    if (!reduced[i])
      shape.push_back((*input)[i]);
    else if (keepDims)
      shape.push_back(1);
  }
  return one(type, std::move(shape));
}

Answer reduce(const Operator &op) { return reduceWithType(op, typeOf(op, 0)); }
Answer reduceBool(const Operator &op) { return reduceWithType(op, TensorType::BOOL); }

Answer argWithType(const Operator &op, const TensorType *option) {
  auto input = shapeOf(op, 0);
  if (!input)
    return noAnswer();
  TensorType type = option && (*option == TensorType::INT32 || *option == TensorType::INT64)
                        ? *option
                        : statedType(op, TensorType::INT64, {TensorType::INT32});
  auto axis = readInteger(op.operand(1));
  if (!axis)
    return one(type, unknownShape(input->empty() ? 0 : input->size() - 1));
  auto index = axisIn(*axis, input->size());
  if (!index)
    return fail(op, "axis " + llvm::Twine(*axis) + " is out of range");
  input->erase(input->begin() + *index);
  return one(type, std::move(*input));
}

Answer argMax(const Operator &op) {
  const auto *options = optionsOf<circle::ArgMaxOptions>(op);
  TensorType type = options ? options->output_type() : TensorType::FLOAT32;
  return argWithType(op, options ? &type : nullptr);
}

Answer argMin(const Operator &op) {
  const auto *options = optionsOf<circle::ArgMinOptions>(op);
  TensorType type = options ? options->output_type() : TensorType::FLOAT32;
  return argWithType(op, options ? &type : nullptr);
}

/// One row a segment; ids are sorted, so that the last one tells how many there are.
Answer segmentSum(const Operator &op) {
  auto data = shapeOf(op, 0);
  if (!data)
    return noAnswer();
  if (data->empty())
    return fail(op, "a scalar has no segments");
  int64_t rows = -1;
  if (auto ids = readIntegers(op.operand(1))) {
    rows = ids->empty() ? 0 : ids->back();
    if (rows < 0 || rows >= std::numeric_limits<int32_t>::max())
      return fail(op, "impossible segment " + llvm::Twine(rows));
    rows += !ids->empty();
  }
  data->front() = static_cast<int32_t>(rows);
  return one(typeOf(op, 0), std::move(*data));
}

Answer unsortedSegment(const Operator &op) {
  auto data = shapeOf(op, 0), ids = shapeOf(op, 1);
  if (!data || !ids)
    return noAnswer();
  if (ids->size() > data->size())
    return fail(op, "segment ids of a higher rank than the data");
  auto segments = readInteger(op.operand(2));
  if (segments && (*segments < 0 || *segments > std::numeric_limits<int32_t>::max()))
    return fail(op, "impossible number of segments");
  Shape shape{segments ? static_cast<int32_t>(*segments) : -1};
  shape.append(data->begin() + ids->size(), data->end());
  return one(typeOf(op, 0), std::move(shape));
}

Answer matrixDiag(const Operator &op) {
  auto shape = shapeOf(op, 0);
  if (!shape)
    return noAnswer();
  if (shape->empty())
    return fail(op, "a scalar is no diagonal");
  shape->push_back(shape->back());
  return one(typeOf(op, 0), std::move(*shape));
}

Answer rfft2D(const Operator &op) {
  auto shape = shapeOf(op, 0);
  if (!shape)
    return noAnswer();
  size_t rank = shape->size();
  if (rank < 2)
    return fail(op, "input of rank below 2");
  auto length = readIntegers(op.operand(1));
  if (length && (length->size() != 2 || (*length)[0] <= 0 || (*length)[1] <= 0))
    return fail(op, "a length that is not two positive numbers");
  llvm::SmallVector<int64_t> dims(shape->begin(), shape->end());
  dims[rank - 2] = length ? (*length)[0] : -1;
  dims[rank - 1] = length ? (*length)[1] / 2 + 1 : -1;
  return oneChecked(op, TensorType::COMPLEX64, dims);
}

constexpr RuleRow rules[] = {
    {BuiltinOperator::MEAN, reduce},
    {BuiltinOperator::SUM, reduce},
    {BuiltinOperator::REDUCE_PROD, reduce},
    {BuiltinOperator::REDUCE_MAX, reduce},
    {BuiltinOperator::REDUCE_MIN, reduce},
    {BuiltinOperator::REDUCE_ANY, reduceBool},
    {BuiltinOperator::REDUCE_ALL, reduceBool},
    {BuiltinOperator::ARG_MAX, argMax},
    {BuiltinOperator::ARG_MIN, argMin},
    {BuiltinOperator::SEGMENT_SUM, segmentSum},
    {BuiltinOperator::UNSORTED_SEGMENT_PROD, unsortedSegment},
    {BuiltinOperator::UNSORTED_SEGMENT_MAX, unsortedSegment},
    {BuiltinOperator::UNSORTED_SEGMENT_MIN, unsortedSegment},
    {BuiltinOperator::UNSORTED_SEGMENT_SUM, unsortedSegment},
    {BuiltinOperator::MATRIX_DIAG, matrixDiag},
    {BuiltinOperator::MATRIX_SET_DIAG, sameAsFirst},
    {BuiltinOperator::RFFT2D, rfft2D},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::reductionRules() { return rules; }
