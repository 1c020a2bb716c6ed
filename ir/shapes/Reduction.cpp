#include "ir/shapes/Rules.h"

#include "llvm/ADT/STLExtras.h"

/// Reductions over axes, segments, and the diagonal operators.

using namespace origo;
using namespace origo::inference;

namespace {

Answer reduceWithType(const ShapeSite &op, TensorType type) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  const auto &options = op.options<circle::ReducerOptions>();
  bool keepDims = options.keep_dims();
  auto axes = op.values(1);
  if (!axes)
    return keepDims ? one(type, unknownShape(input->size())) : unranked(type);
  llvm::SmallVector<bool> reduced(input->size(), false);
  for (int64_t axis : *axes) {
    auto index = axisIn(axis, input->size());
    // The runtime does not look at the axes of a scalar.
    if (!index && !input->empty())
      return op.fail("axis " + llvm::Twine(axis) + " is out of range");
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

Answer reduce(const ShapeSite &op) { return reduceWithType(op, op.type(0)); }
Answer reduceBool(const ShapeSite &op) { return reduceWithType(op, TensorType::BOOL); }

Answer argWithType(const ShapeSite &op, TensorType type) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  if (type != TensorType::INT32 && type != TensorType::INT64)
    type = statedType(op, TensorType::INT64, {TensorType::INT32});
  if (!isSingle(op, 1))
    return op.fail("an axis that is not a single number");
  auto axis = op.value(1);
  if (!axis)
    return one(type, unknownShape(input->empty() ? 0 : input->size() - 1));
  auto index = axisIn(*axis, input->size());
  if (!index)
    return op.fail("axis " + llvm::Twine(*axis) + " is out of range");
  input->erase(input->begin() + *index);
  return one(type, std::move(*input));
}

Answer argMax(const ShapeSite &op) { return argWithType(op, op.options<circle::ArgMaxOptions>().output_type()); }
Answer argMin(const ShapeSite &op) { return argWithType(op, op.options<circle::ArgMinOptions>().output_type()); }

/// One row a segment; ids rise, so that the last one tells how many there are.
Answer segmentSum(const ShapeSite &op) {
  auto data = op.shape(0);
  if (!data)
    return noAnswer();
  if (data->empty())
    return op.fail("a scalar has no segments");
  if (auto ids = op.shape(1); ids && (ids->size() != 1 || !mergeDim((*ids)[0], data->front())))
    return op.fail("not a segment for each row");
  int64_t rows = -1;
  if (auto ids = op.values(1)) {
    rows = ids->empty() ? 0 : ids->back();
    if (!llvm::is_sorted(*ids) || (!ids->empty() && ids->front() < 0) || rows >= std::numeric_limits<int32_t>::max())
      return op.fail("segments that are negative, too many, or do not rise");
    rows += !ids->empty();
  }
  data->front() = static_cast<int32_t>(rows);
  return one(op.type(0), std::move(*data));
}

Answer unsortedSegment(const ShapeSite &op) {
  auto data = op.shape(0), ids = op.shape(1);
  if (!data || !ids)
    return noAnswer();
  if (ids->size() > data->size())
    return op.fail("segment ids of a higher rank than the data");
  for (size_t i = 0; i < ids->size(); ++i)
    if (!mergeDim((*ids)[i], (*data)[i]))
      return op.fail("not a segment for each row");
  auto segments = op.value(2);
  if (segments && (*segments < 0 || *segments > std::numeric_limits<int32_t>::max()))
    return op.fail("impossible number of segments");
  Shape shape{segments ? static_cast<int32_t>(*segments) : -1};
  shape.append(data->begin() + ids->size(), data->end());
  return one(op.type(0), std::move(shape));
}

/// Of operands 2, 3 and 4: how long the window is, its steps, and the steps between its elements, for each dimension.
Answer reduceWindow(const ShapeSite &op) {
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  llvm::SmallVector<int64_t, 8> numbers[3];
  for (unsigned i = 0; i < 3; ++i) {
    auto read = op.values(i + 2);
    if (!read)
      return one(op.type(0), unknownShape(shape->size()));
    if (read->size() != shape->size())
      return op.fail("operand " + llvm::Twine(i + 2) + " does not have a number for each dimension");
    for (int64_t number : *read)
      if (number < 1 || number > std::numeric_limits<int32_t>::max())
        return op.fail("impossible number " + llvm::Twine(number) + " of a window");
    numbers[i] = std::move(*read);
  }
  auto &[window, strides, dilations] = numbers;
  for (size_t i = 0; i < shape->size(); ++i) {
    int64_t extent = (window[i] - 1) * dilations[i] + 1;
    int32_t &dim = (*shape)[i];
    if (dim < 0)
      continue;
    if (extent > dim)
      return op.fail("a window that is larger than dimension " + llvm::Twine(i));
    dim = static_cast<int32_t>((dim - extent) / strides[i] + 1);
  }
  return one(op.type(0), std::move(*shape));
}

Answer matrixDiag(const ShapeSite &op) {
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  if (shape->empty())
    return op.fail("a scalar is no diagonal");
  shape->push_back(shape->back());
  return one(op.type(0), std::move(*shape));
}

Answer rfft2D(const ShapeSite &op) {
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  size_t rank = shape->size();
  if (rank < 2)
    return op.fail("input of rank below 2");
  auto length = op.values(1);
  if (length && (length->size() != 2 || (*length)[0] <= 0 || (*length)[1] <= 0))
    return op.fail("a length that is not two positive numbers");
  llvm::SmallVector<int64_t> dims(shape->begin(), shape->end());
  dims[rank - 2] = length ? (*length)[0] : -1;
  dims[rank - 1] = length ? (*length)[1] / 2 + 1 : -1;
  return oneChecked(op, TensorType::COMPLEX64, dims);
}

constexpr RuleRow reductionRows[] = {
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
    {BuiltinOperator::REDUCE_WINDOW, reduceWindow},
    {BuiltinOperator::MATRIX_DIAG, matrixDiag},
    {BuiltinOperator::MATRIX_SET_DIAG, sameAsFirst},
    {BuiltinOperator::RFFT2D, rfft2D},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::reductionRules() { return reductionRows; }
