#include "ir/shapes/Rules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

/// Slices, gathers and scatters, and what makes tensors from shapes and numbers.

using namespace origo;
using namespace origo::inference;

namespace {

Answer slice(const Operator &op) {
  auto input = shapeOf(op, 0);
  if (!input)
    return noAnswer();
  auto begin = readIntegers(op.operand(1)), size = readIntegers(op.operand(2));
  if ((begin && begin->size() != input->size()) || (size && size->size() != input->size()))
    return fail(op, "begin or size of another length than the rank");
  llvm::SmallVector<int64_t> dims;
  for (size_t i = 0; i < input->size(); ++i) {
    int64_t dim = (*input)[i];
    // The runtime only looks at the sum of begin and size, and ONE reads a negative begin as it likes.
    int64_t start = begin ? std::max<int64_t>((*begin)[i], 0) : 0;
    if (dim >= 0 && start > dim)
      return fail(op, "begin " + llvm::Twine(start) + " is outside dimension " + llvm::Twine(i));
    if (!size) {
      dims.push_back(-1);
      continue;
    }
    int64_t length = (*size)[i];
    if (length < -1)
      return fail(op, "negative size " + llvm::Twine(length));
    if (length == -1)
      length = begin && (*begin)[i] >= 0 && dim >= 0 ? dim - start : -1;
    else if (dim >= 0 && length > dim - start)
      return fail(op, "size " + llvm::Twine(length) + " is outside dimension " + llvm::Twine(i));
    dims.push_back(length);
  }
  return oneChecked(op, typeOf(op, 0), dims);
}

/// begin:end:stride of one axis; the length of what it picks out of `dim`, or nothing for a stride of 0.
std::optional<int64_t> pickedLength(int64_t dim, int64_t begin, int64_t end, int64_t stride, bool fromStart, bool toEnd,
                                    bool endIsLength) {
  if (stride == 0)
    return std::nullopt;
  // The numbers come from int32 or int64 constants: brought near the dimension first, sums do not overflow.
  constexpr int64_t far = int64_t(1) << 40;
  begin = std::clamp(begin, -far, far);
  end = std::clamp(end, -far, far);
  stride = std::clamp(stride, -far, far);
  int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? dim : dim - 1;
  int64_t start = fromStart ? (stride > 0 ? 0 : dim - 1) : begin < 0 ? begin + dim : begin;
  start = dim == 0 ? 0 : std::clamp(start, lowest, highest);
  if (endIsLength)
    end += start;
  int64_t stop = toEnd ? (stride > 0 ? dim : -1) : end < 0 && !endIsLength ? end + dim : end;
  stop = dim == 0 ? 0 : std::clamp(stop, lowest, highest);
  int64_t distance = stride > 0 ? stop - start : start - stop, step = std::abs(stride);
  return distance <= 0 ? 0 : (distance + step - 1) / step;
}

/// As BuildStridedSliceParams of the runtime: masks count the positions of begin, where the ellipsis stands for any
/// number of axes and a new axis for none.
Answer stridedSlice(const Operator &op) {
  const auto *options = optionsOf<circle::StridedSliceOptions>(op);
  auto input = shapeOf(op, 0), positions = shapeOf(op, 1);
  if (!options || !input || !positions)
    return noAnswer();
  if (positions->size() != 1)
    return fail(op, "begin is not a vector");
  int64_t count = (*positions)[0];
  if (count < 0)
    return unranked(typeOf(op, 0));
  constexpr int64_t maskBits = 31;
  if (count > maskBits || input->size() > maskBits)
    return noAnswer();
  auto begin = readIntegers(op.operand(1)), end = readIntegers(op.operand(2)), strides = readIntegers(op.operand(3));
  for (const auto *list : {&begin, &end, &strides})
    if (*list && static_cast<int64_t>((*list)->size()) != count)
      return fail(op, "begin, end and strides of different lengths");
  if (strides && llvm::is_contained(*strides, 0))
    return fail(op, "stride of 0");
  auto has = [](int64_t mask, int64_t bit) { return (mask >> bit) & 1; };
  int64_t ellipsisMask = static_cast<uint32_t>(options->ellipsis_mask());
  int64_t newAxisMask = static_cast<uint32_t>(options->new_axis_mask()) & ~ellipsisMask;
  int64_t shrinkMask = static_cast<uint32_t>(options->shrink_axis_mask());

  int64_t picked = 0; // axes of the input that positions other than the ellipsis stand for
  bool ellipsis = false;
  for (int64_t i = 0; i < count; ++i) {
    if (!has(ellipsisMask, i)) {
      picked += !has(newAxisMask, i);
    } else if (ellipsis) {
      return fail(op, "two ellipses");
    } else {
      ellipsis = true;
    }
  }
  int64_t rank = static_cast<int64_t>(input->size());
  if (picked > rank)
    return fail(op, llvm::Twine(picked) + " positions for " + llvm::Twine(rank) + " dimensions");

  llvm::SmallVector<int64_t> dims;
  int64_t axis = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (has(ellipsisMask, i)) {
      for (int64_t n = rank - picked; n > 0; --n)
        dims.push_back((*input)[axis++]);
      continue;
    }
    if (has(newAxisMask, i)) {
      dims.push_back(1);
      continue;
    }
    int64_t dim = (*input)[axis++];
    if (has(shrinkMask, i)) {
      if (strides && (*strides)[i] < 0)
        return fail(op, "a negative stride for an axis that is dropped");
      if (begin && dim >= 0 && ((*begin)[i] >= dim || (*begin)[i] < -dim) && !has(options->begin_mask(), i))
        return fail(op, "position " + llvm::Twine((*begin)[i]) + " is outside dimension " + llvm::Twine(dim));
      continue;
    }
    bool fromStart = has(options->begin_mask(), i), toEnd = has(options->end_mask(), i);
    bool known = dim >= 0 && strides && (fromStart || begin) && (toEnd || end);
    if (!known) {
      dims.push_back(-1);
      continue;
    }
    auto length = pickedLength(dim, begin ? (*begin)[i] : 0, end ? (*end)[i] : 0, (*strides)[i], fromStart, toEnd,
                               options->offset());
    dims.push_back(*length);
  }
  while (axis < rank)
    dims.push_back((*input)[axis++]);
  return oneChecked(op, typeOf(op, 0), dims);
}

Answer gather(const Operator &op) {
  auto input = shapeOf(op, 0), indices = shapeOf(op, 1);
  if (!input || !indices)
    return noAnswer();
  const auto *options = optionsOf<circle::GatherOptions>(op);
  auto axis = axisIn(options ? options->axis() : 0, input->size());
  int64_t batchDims = options ? options->batch_dims() : 0;
  if (batchDims < 0)
    batchDims += static_cast<int64_t>(indices->size());
  if (!axis || batchDims < 0 || batchDims > *axis || batchDims > static_cast<int64_t>(indices->size()))
    return fail(op, "axis or batch dimensions out of range");
  Shape shape(input->begin(), input->begin() + *axis);
  for (int64_t i = 0; i < batchDims; ++i) {
    auto dim = mergeDim((*input)[i], (*indices)[i]);
    if (!dim)
      return fail(op, "different batch dimensions");
    shape[i] = *dim;
  }
  shape.append(indices->begin() + batchDims, indices->end());
  shape.append(input->begin() + *axis + 1, input->end());
  return one(typeOf(op, 0), std::move(shape));
}

Answer gatherNd(const Operator &op) {
  auto input = shapeOf(op, 0), indices = shapeOf(op, 1);
  if (!input || !indices)
    return noAnswer();
  if (indices->empty())
    return fail(op, "indices without dimensions");
  int64_t depth = indices->pop_back_val();
  if (depth < 0)
    return unranked(typeOf(op, 0));
  if (depth > static_cast<int64_t>(input->size()))
    return fail(op, "indices of " + llvm::Twine(depth) + " numbers for rank " + llvm::Twine(input->size()));
  indices->append(input->begin() + depth, input->end());
  return one(typeOf(op, 0), std::move(*indices));
}

/// A result whose shape is the values of operand `shapeOperand`.
Answer shapedBy(const Operator &op, unsigned shapeOperand, TensorType type) {
  if (auto sizes = readIntegers(op.operand(shapeOperand)))
    return oneFromConstant(op, type, *sizes);
  auto shape = shapeOf(op, shapeOperand);
  if (!shape || shape->size() != 1 || (*shape)[0] < 0 || static_cast<size_t>((*shape)[0]) > maxRank)
    return unranked(type);
  return one(type, unknownShape((*shape)[0]));
}

Answer scatterNd(const Operator &op) { return shapedBy(op, 2, typeOf(op, 1)); }
Answer sparseToDense(const Operator &op) { return shapedBy(op, 1, typeOf(op, 2)); }
Answer fill(const Operator &op) { return shapedBy(op, 0, typeOf(op, 1)); }

/// Random numbers are float unless the result is stated as something else.
Answer random(const Operator &op) {
  return shapedBy(op, 0, statedType(op, TensorType::FLOAT32, {TensorType::FLOAT16, TensorType::FLOAT64}));
}

Answer oneHot(const Operator &op) {
  const auto *options = optionsOf<circle::OneHotOptions>(op);
  auto indices = shapeOf(op, 0);
  if (!indices)
    return noAnswer();
  auto axis = axisIn(options ? options->axis() : -1, indices->size() + 1);
  auto depth = readInteger(op.operand(1));
  if (!axis || (depth && (*depth < 0 || *depth > std::numeric_limits<int32_t>::max())))
    return fail(op, "axis or depth out of range");
  indices->insert(indices->begin() + *axis, depth ? static_cast<int32_t>(*depth) : -1);
  return one(typeOf(op, 2), std::move(*indices));
}

Answer topK(const Operator &op) {
  auto input = shapeOf(op, 0);
  if (!input)
    return noAnswer();
  if (input->empty())
    return fail(op, "a scalar has no largest elements");
  auto k = readInteger(op.operand(1));
  int32_t &last = input->back();
  if (k && (*k < 0 || (last >= 0 && *k > last) || *k > std::numeric_limits<int32_t>::max()))
    return fail(op, llvm::Twine(*k) + " largest elements of " + llvm::Twine(last));
  last = k ? static_cast<int32_t>(*k) : -1;
  const Value *indices = op.result(1);
  TensorType indexType = indices && indices->type == TensorType::INT16 ? TensorType::INT16 : TensorType::INT32;
  return Results{{typeOf(op, 0), *input, true}, {indexType, *input, true}};
}

Answer shape(const Operator &op) {
  const auto *options = optionsOf<circle::ShapeOptions>(op);
  auto input = shapeOf(op, 0);
  if (!input)
    return noAnswer();
  TensorType type = options ? options->out_type() : TensorType::INT32;
  if (type != TensorType::INT64)
    type = TensorType::INT32;
  return one(type, {static_cast<int32_t>(input->size())});
}

Answer rank(const Operator &op) { return one(TensorType::INT32, {}); }

/// The rows of a matrix that `indices` name.
Answer embeddingLookup(const Operator &op) {
  auto indices = shapeOf(op, 0), table = shapeOf(op, 1);
  if (!indices || !table)
    return noAnswer();
  if (indices->size() != 1 || table->size() < 2)
    return fail(op, "indices are not a vector or the table is not a matrix");
  (*table)[0] = (*indices)[0];
  return one(statedType(op, typeOf(op, 1), {TensorType::FLOAT32}), std::move(*table));
}

Answer hashtableLookup(const Operator &op) {
  auto keys = shapeOf(op, 0), table = shapeOf(op, 2);
  if (!keys || !table)
    return noAnswer();
  if (keys->size() != 1 || table->empty())
    return fail(op, "keys are not a vector or the values are a scalar");
  (*table)[0] = (*keys)[0];
  return Results{{typeOf(op, 2), std::move(*table), true}, {TensorType::UINT8, {(*keys)[0]}, true}};
}

Answer where(const Operator &op) {
  auto condition = shapeOf(op, 0);
  if (!condition)
    return noAnswer();
  return one(TensorType::INT64, {-1, static_cast<int32_t>(condition->size())});
}

Answer unique(const Operator &op) {
  const auto *options = optionsOf<circle::UniqueOptions>(op);
  auto input = shapeOf(op, 0);
  if (!input)
    return noAnswer();
  bool wide = options && options->idx_out_type() == TensorType::INT64;
  TensorType indexType = wide ? TensorType::INT64 : TensorType::INT32;
  return Results{{typeOf(op, 0), {-1}, true}, {indexType, std::move(*input), true}};
}

/// Both kinds of non-maximum suppression fill up to the most boxes that may be selected.
Results selectedBoxes(const Operator &op, bool scores) {
  auto most = readInteger(op.operand(2));
  int32_t count = most && *most >= 0 && *most <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(*most) : -1;
  Results results{{TensorType::INT32, {count}, true}};
  if (scores)
    results.push_back({TensorType::FLOAT32, {count}, true});
  results.push_back({TensorType::INT32, {}, true});
  return results;
}

Answer nonMaxSuppressionV4(const Operator &op) { return selectedBoxes(op, false); }
Answer nonMaxSuppressionV5(const Operator &op) { return selectedBoxes(op, true); }

template <class T> Answer rangeOf(const Operator &op) {
  auto start = readConstant<T>(op.operand(0), 1), limit = readConstant<T>(op.operand(1), 1),
       delta = readConstant<T>(op.operand(2), 1);
  TensorType type = typeOf(op, 0);
  if (!start || !limit || !delta || start->size() + limit->size() + delta->size() != 3)
    return one(type, {-1});
  // long double holds every int64, so that differences do not overflow; floats are computed as the runtime does.
  using Wide = std::conditional_t<std::is_integral_v<T>, long double, T>;
  Wide step = delta->front(), distance = static_cast<Wide>(limit->front()) - static_cast<Wide>(start->front());
  if (!(step > 0 || step < 0) || (distance > 0 && step < 0) || (distance < 0 && step > 0))
    return fail(op, "a range that does not end");
  Wide count = std::ceil(std::abs(distance / step));
  if (!(count < Wide(2147483648.0)))
    return fail(op, "a range of too many numbers");
  return oneChecked(op, type, {static_cast<int64_t>(count)});
}

Answer range(const Operator &op) {
  switch (typeOf(op, 0)) {
  case TensorType::INT32:
    return rangeOf<int32_t>(op);
  case TensorType::INT64:
    return rangeOf<int64_t>(op);
  case TensorType::FLOAT32:
    return rangeOf<float>(op);
  default:
    return one(typeOf(op, 0), {-1});
  }
}

Answer broadcastArgs(const Operator &op) {
  auto a = shapeOf(op, 0), b = shapeOf(op, 1);
  if (!a || !b)
    return noAnswer();
  if (a->size() != 1 || b->size() != 1)
    return fail(op, "shapes that are not vectors");
  int32_t longer = (*a)[0] < 0 || (*b)[0] < 0 ? -1 : std::max((*a)[0], (*b)[0]);
  return one(typeOf(op, 0), {longer});
}

Answer multinomial(const Operator &op) {
  auto logits = shapeOf(op, 0);
  if (!logits)
    return noAnswer();
  if (logits->size() != 2)
    return fail(op, "logits are not a matrix");
  auto samples = readInteger(op.operand(1));
  if (samples && (*samples < 0 || *samples > std::numeric_limits<int32_t>::max()))
    return fail(op, "impossible number of samples");
  return one(statedType(op, TensorType::INT64, {TensorType::INT32}),
             {(*logits)[0], samples ? static_cast<int32_t>(*samples) : -1});
}

constexpr RuleRow rules[] = {
    {BuiltinOperator::SLICE, slice},
    {BuiltinOperator::STRIDED_SLICE, stridedSlice},
    {BuiltinOperator::GATHER, gather},
    {BuiltinOperator::GATHER_ND, gatherNd},
    {BuiltinOperator::SCATTER_ND, scatterNd},
    {BuiltinOperator::SPARSE_TO_DENSE, sparseToDense},
    {BuiltinOperator::FILL, fill},
    {BuiltinOperator::RANDOM_STANDARD_NORMAL, random},
    {BuiltinOperator::RANDOM_UNIFORM, random},
    {BuiltinOperator::MULTINOMIAL, multinomial},
    {BuiltinOperator::ONE_HOT, oneHot},
    {BuiltinOperator::TOPK_V2, topK},
    {BuiltinOperator::SHAPE, shape},
    {BuiltinOperator::RANK, rank},
    {BuiltinOperator::EMBEDDING_LOOKUP, embeddingLookup},
    {BuiltinOperator::HASHTABLE_LOOKUP, hashtableLookup},
    {BuiltinOperator::WHERE, where},
    {BuiltinOperator::UNIQUE, unique},
    {BuiltinOperator::NON_MAX_SUPPRESSION_V4, nonMaxSuppressionV4},
    {BuiltinOperator::NON_MAX_SUPPRESSION_V5, nonMaxSuppressionV5},
    {BuiltinOperator::RANGE, range},
    {BuiltinOperator::BROADCAST_ARGS, broadcastArgs},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::indexingRules() { return rules; }
