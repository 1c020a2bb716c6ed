#include "ir/shapes/Rules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

/// Slices, gathers and scatters, and what makes tensors from shapes and numbers.

using namespace origo;
using namespace origo::inference;

Range inference::pickedRange(int64_t dim, int64_t begin, int64_t end, int64_t stride, bool fromStart, bool toEnd,
                             bool endIsLength) {
  // The numbers may be of 64 bits: brought near the dimension first, sums do not overflow.
  constexpr int64_t far = int64_t(1) << 40;
  begin = std::clamp(begin, -far, far);
  end = std::clamp(end, -far, far);
  stride = std::clamp(stride, -far, far);
  int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
  // Indices beyond the ends are cut off.
  auto clip = [&](int64_t index) { return std::max(low, std::min(high, index < 0 ? index + dim : index)); };
  int64_t first = fromStart ? (stride > 0 ? low : high) : clip(begin);
  int64_t stop = toEnd ? (stride > 0 ? high : low) : clip(endIsLength ? first + end : end);
  int64_t distance = stride > 0 ? stop - first : first - stop, step = std::abs(stride);
  return {first, distance <= 0 ? 0 : (distance + step - 1) / step};
}

namespace {

Answer slice(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  auto begin = op.values(1), size = op.values(2);
  if ((begin && begin->size() != input->size()) || (size && size->size() != input->size()))
    return op.fail("begin or size of another length than the rank");
  llvm::SmallVector<int64_t> dims;
  for (size_t i = 0; i < input->size(); ++i) {
    int64_t dim = (*input)[i];
    // The runtime only looks at the sum of begin and size, and ONE reads a negative begin as it likes: there are such
    // files, and nobody knows what they mean.
    int64_t start = begin ? std::max<int64_t>((*begin)[i], 0) : 0;
    if (dim >= 0 && start > dim)
      return op.fail("begin " + llvm::Twine(start) + " is outside dimension " + llvm::Twine(i));
    if (!size) {
      dims.push_back(-1);
      continue;
    }
    int64_t length = (*size)[i];
    if (length < -1)
      return op.fail("negative size " + llvm::Twine(length));
    if (length == -1)
      length = begin && (*begin)[i] >= 0 && dim >= 0 ? dim - start : -1;
    else if (dim >= 0 && length > dim - start)
      return op.fail("size " + llvm::Twine(length) + " is outside dimension " + llvm::Twine(i));
    dims.push_back(begin && (*begin)[i] < 0 ? -1 : length);
  }
  return oneChecked(op, op.type(0), dims);
}

/// As BuildStridedSliceParams of the runtime: masks count the positions of begin, where the ellipsis stands for any
/// number of axes and a new axis for none.
Answer stridedSlice(const ShapeSite &op) {
  const auto &options = op.options<circle::StridedSliceOptions>();
  auto input = op.shape(0), positions = op.shape(1);
  if (!input || !positions)
    return noAnswer();
  if (positions->size() != 1)
    return op.fail("begin is not a vector");
  int64_t count = (*positions)[0];
  if (count < 0)
    return unranked(op.type(0));
  constexpr int64_t maskBits = 31;
  if (count > maskBits || input->size() > maskBits)
    return noAnswer();
  auto begin = op.values(1), end = op.values(2), strides = op.values(3);
  for (const auto *list : {&begin, &end, &strides})
    if (*list && static_cast<int64_t>((*list)->size()) != count)
      return op.fail("begin, end and strides of different lengths");
  if (strides && llvm::is_contained(*strides, 0))
    return op.fail("stride of 0");
  auto has = [](int64_t mask, int64_t bit) { return (mask >> bit) & 1; };
  int64_t ellipsisMask = static_cast<uint32_t>(options.ellipsis_mask());
  int64_t newAxisMask = static_cast<uint32_t>(options.new_axis_mask()) & ~ellipsisMask;
  int64_t shrinkMask = static_cast<uint32_t>(options.shrink_axis_mask());

  int64_t picked = 0; // axes of the input that positions other than the ellipsis stand for
  bool ellipsis = false;
  for (int64_t i = 0; i < count; ++i) {
    if (!has(ellipsisMask, i)) {
      picked += !has(newAxisMask, i);
    } else if (ellipsis) {
      return op.fail("two ellipses");
    } else {
      ellipsis = true;
    }
  }
  int64_t rank = static_cast<int64_t>(input->size());
  if (picked > rank)
    return op.fail(llvm::Twine(picked) + " positions for " + llvm::Twine(rank) + " dimensions");

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
        return op.fail("a negative stride for an axis that is dropped");
      if (dim == 0)
        return op.fail("a position in dimension 0");
      if (begin && dim >= 0 && ((*begin)[i] >= dim || (*begin)[i] < -dim) && !has(options.begin_mask(), i))
        return op.fail("position " + llvm::Twine((*begin)[i]) + " is outside dimension " + llvm::Twine(dim));
      continue;
    }
    bool fromStart = has(options.begin_mask(), i), toEnd = has(options.end_mask(), i);
    bool known = dim >= 0 && strides && (fromStart || begin) && (toEnd || end);
    if (!known) {
      dims.push_back(-1);
      continue;
    }
    dims.push_back(pickedRange(dim, begin ? (*begin)[i] : 0, end ? (*end)[i] : 0, (*strides)[i], fromStart, toEnd,
                               options.offset())
                       .count);
  }
  while (axis < rank)
    dims.push_back((*input)[axis++]);
  return oneChecked(op, op.type(0), dims);
}

Answer gather(const ShapeSite &op) {
  auto input = op.shape(0), indices = op.shape(1);
  if (!input || !indices)
    return noAnswer();
  const auto &options = op.options<circle::GatherOptions>();
  auto axis = axisIn(options.axis(), input->size());
  int64_t batchDims = options.batch_dims();
  if (batchDims < 0)
    batchDims += static_cast<int64_t>(indices->size());
  if (!axis || batchDims < 0 || batchDims > *axis || batchDims > static_cast<int64_t>(indices->size()))
    return op.fail("axis or batch dimensions out of range");
  Shape shape(input->begin(), input->begin() + *axis);
  for (int64_t i = 0; i < batchDims; ++i) {
    auto dim = mergeDim((*input)[i], (*indices)[i]);
    if (!dim)
      return op.fail("different batch dimensions");
    shape[i] = *dim;
  }
  shape.append(indices->begin() + batchDims, indices->end());
  shape.append(input->begin() + *axis + 1, input->end());
  return one(op.type(0), std::move(shape));
}

Answer gatherNd(const ShapeSite &op) {
  auto input = op.shape(0), indices = op.shape(1);
  if (!input || !indices)
    return noAnswer();
  if (indices->empty())
    return op.fail("indices without dimensions");
  int64_t depth = indices->pop_back_val();
  if (depth < 0)
    return unranked(op.type(0));
  if (depth > static_cast<int64_t>(input->size()))
    return op.fail("indices of " + llvm::Twine(depth) + " numbers for rank " + llvm::Twine(input->size()));
  indices->append(input->begin() + depth, input->end());
  return one(op.type(0), std::move(*indices));
}

/// A result whose shape is the values of operand `shapeOperand`.
Answer shapedBy(const ShapeSite &op, unsigned shapeOperand, TensorType type) {
  if (auto sizes = op.values(shapeOperand))
    return oneFromConstant(op, type, *sizes);
  auto shape = op.shape(shapeOperand);
  if (!shape || shape->size() != 1 || (*shape)[0] < 0 || static_cast<size_t>((*shape)[0]) > maxRank)
    return unranked(type);
  return one(type, unknownShape((*shape)[0]));
}

/// The last dimension of the indices names a place along the first dimensions of the result; updates are what lies
/// there.
Answer scatterNd(const ShapeSite &op) {
  auto indices = op.shape(0), updates = op.shape(1);
  Answer answer = shapedBy(op, 2, op.type(1));
  if (!answer || !answer->front().rankKnown || !indices || indices->empty() || indices->back() < 0)
    return answer;
  const auto &to = answer->front().shape;
  size_t depth = static_cast<size_t>(indices->pop_back_val());
  if (depth > to.size())
    return op.fail("indices of " + llvm::Twine(depth) + " numbers for rank " + llvm::Twine(to.size()));
  indices->append(to.begin() + depth, to.end());
  bool fits = !updates || updates->size() == indices->size();
  for (size_t i = 0; fits && updates && i < indices->size(); ++i)
    fits = mergeDim((*updates)[i], (*indices)[i]).has_value();
  return fits ? std::move(answer) : op.fail("not an update for each index");
}

/// Indices are [count, rank], [count] for rank 1, or one of these by itself; values one each, or one for all.
Answer sparseToDense(const ShapeSite &op) {
  auto indices = op.shape(0), values = op.shape(2), rest = op.shape(3);
  Answer answer = shapedBy(op, 1, op.type(2));
  if (!answer || !answer->front().rankKnown)
    return answer;
  if ((indices && indices->size() > 2) || (values && values->size() > 1) ||
      (rest && elementCount(*rest).value_or(2) > 1))
    return op.fail("indices of more than two dimensions, values of more than one, or several defaults");
  if (rest && elementCount(*rest) == 0)
    return op.fail("no default");
  int64_t rank = static_cast<int64_t>(answer->front().shape.size());
  if (indices && (indices->size() == 2 ? !mergeDim((*indices)[1], static_cast<int32_t>(rank)) : rank != 1))
    return op.fail("indices that do not have a number for each of " + llvm::Twine(rank) + " dimensions");
  if (indices && values && values->size() == 1 && !mergeDim(indices->empty() ? 1 : (*indices)[0], (*values)[0]))
    return op.fail("not a value for each index");
  return answer;
}
Answer fill(const ShapeSite &op) { return shapedBy(op, 0, op.type(1)); }

/// Random numbers are float unless the result is stated as something else.
Answer random(const ShapeSite &op) {
  return shapedBy(op, 0, statedType(op, TensorType::FLOAT32, {TensorType::FLOAT16, TensorType::FLOAT64}));
}

Answer oneHot(const ShapeSite &op) {
  const auto &options = op.options<circle::OneHotOptions>();
  auto indices = op.shape(0);
  if (!indices)
    return noAnswer();
  auto axis = axisIn(options.axis(), indices->size() + 1);
  auto depth = op.value(1);
  if (!axis || (depth && (*depth < 0 || *depth > std::numeric_limits<int32_t>::max())))
    return op.fail("axis or depth out of range");
  indices->insert(indices->begin() + *axis, depth ? static_cast<int32_t>(*depth) : -1);
  return one(op.type(2), std::move(*indices));
}

Answer topK(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  if (input->empty())
    return op.fail("a scalar has no largest elements");
  auto k = op.value(1);
  int32_t &last = input->back();
  if (k && ((last >= 0 && *k > last) || *k > std::numeric_limits<int32_t>::max()))
    return op.fail(llvm::Twine(*k) + " largest elements of " + llvm::Twine(last));
  last = k ? static_cast<int32_t>(std::max<int64_t>(*k, 0)) : -1; // fewer than none are none
  const Value *indices = op.result(1);
  TensorType indexType = indices && indices->type == TensorType::INT16 ? TensorType::INT16 : TensorType::INT32;
  return Results{{op.type(0), *input, true}, {indexType, *input, true}};
}

Answer shape(const ShapeSite &op) {
  const auto &options = op.options<circle::ShapeOptions>();
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  TensorType type = options.out_type();
  if (type != TensorType::INT64)
    type = TensorType::INT32;
  return one(type, {static_cast<int32_t>(input->size())});
}

Answer rank(const ShapeSite &op) { return one(TensorType::INT32, {}); }

/// A row for each place along all but the last of `dims`.
Answer embeddingLookupSparse(const ShapeSite &op) {
  auto places = op.shape(1), table = op.shape(4);
  auto dims = op.values(2);
  if (!table)
    return noAnswer();
  if (table->size() < 2 || (places && (places->size() != 2 || (*places)[1] == 0)))
    return op.fail("the table is not a matrix, or places have no coordinates");
  if (!dims)
    return unranked(op.type(4));
  if (dims->empty())
    return op.fail("places without dimensions");
  dims->pop_back();
  for (int64_t dim : *dims)
    if (dim < 0)
      return op.fail("negative dimension " + llvm::Twine(dim));
  dims->append(table->begin() + 1, table->end());
  return oneChecked(op, op.type(4), *dims);
}

/// The rows of a matrix that `indices` name.
Answer embeddingLookup(const ShapeSite &op) {
  auto indices = op.shape(0), table = op.shape(1);
  if (!indices || !table)
    return noAnswer();
  if (indices->size() != 1 || table->size() < 2)
    return op.fail("indices are not a vector or the table is not a matrix");
  (*table)[0] = (*indices)[0];
  return one(statedType(op, op.type(1), {TensorType::FLOAT32}), std::move(*table));
}

Answer hashtableLookup(const ShapeSite &op) {
  auto keys = op.shape(0), table = op.shape(2);
  if (!keys || !table)
    return noAnswer();
  if (keys->size() != 1 || table->empty())
    return op.fail("keys are not a vector or the values are a scalar");
  (*table)[0] = (*keys)[0];
  return Results{{op.type(2), std::move(*table), true}, {TensorType::UINT8, {(*keys)[0]}, true}};
}

Answer where(const ShapeSite &op) {
  auto condition = op.shape(0);
  if (!condition)
    return noAnswer();
  return one(TensorType::INT64, {-1, static_cast<int32_t>(condition->size())});
}

Answer unique(const ShapeSite &op) {
  const auto &options = op.options<circle::UniqueOptions>();
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  bool wide = options.idx_out_type() == TensorType::INT64;
  TensorType indexType = wide ? TensorType::INT64 : TensorType::INT32;
  return Results{{op.type(0), {-1}, true}, {indexType, std::move(*input), true}};
}

/// Both kinds of non-maximum suppression fill up to the most boxes that may be selected.
Answer selectedBoxes(const ShapeSite &op, bool scores) {
  auto most = op.value(2);
  if (most && (*most < 0 || *most > std::numeric_limits<int32_t>::max()))
    return op.fail("impossible number of boxes " + llvm::Twine(*most));
  int32_t count = most ? static_cast<int32_t>(*most) : -1;
  Results results{{TensorType::INT32, {count}, true}};
  if (scores)
    results.push_back({TensorType::FLOAT32, {count}, true});
  results.push_back({TensorType::INT32, {}, true});
  return results;
}

Answer nonMaxSuppressionV4(const ShapeSite &op) { return selectedBoxes(op, false); }
Answer nonMaxSuppressionV5(const ShapeSite &op) { return selectedBoxes(op, true); }

template <class T> Answer rangeOf(const ShapeSite &op) {
  auto start = op.number<T>(0), limit = op.number<T>(1), delta = op.number<T>(2);
  TensorType type = op.type(0);
  if (!start || !limit || !delta)
    return one(type, {-1});
  // long double holds every int64, so that differences do not overflow; floats are computed as the runtime does.
  using Wide = std::conditional_t<std::is_integral_v<T>, long double, T>;
  Wide step = *delta, distance = static_cast<Wide>(*limit) - static_cast<Wide>(*start);
  if (!(step > 0 || step < 0) || (distance > 0 && step < 0) || (distance < 0 && step > 0))
    return op.fail("a range that does not end");
  Wide count = std::ceil(std::abs(distance / step));
  if (!(count < Wide(2147483648.0)))
    return op.fail("a range of too many numbers");
  return oneChecked(op, type, {static_cast<int64_t>(count)});
}

Answer range(const ShapeSite &op) {
  switch (op.type(0)) {
  case TensorType::INT32:
    return rangeOf<int32_t>(op);
  case TensorType::INT64:
    return rangeOf<int64_t>(op);
  case TensorType::FLOAT32:
    return rangeOf<float>(op);
  default:
    return one(op.type(0), {-1});
  }
}

Answer broadcastArgs(const ShapeSite &op) {
  auto a = op.shape(0), b = op.shape(1);
  if (!a || !b)
    return noAnswer();
  if (a->size() != 1 || b->size() != 1)
    return op.fail("shapes that are not vectors");
  int32_t longer = (*a)[0] < 0 || (*b)[0] < 0 ? -1 : std::max((*a)[0], (*b)[0]);
  return one(op.type(0), {longer});
}

Answer multinomial(const ShapeSite &op) {
  auto logits = op.shape(0);
  if (!logits)
    return noAnswer();
  if (logits->size() != 2)
    return op.fail("logits are not a matrix");
  auto samples = op.value(1);
  if (samples && (*samples < 0 || *samples > std::numeric_limits<int32_t>::max()))
    return op.fail("impossible number of samples");
  return one(statedType(op, TensorType::INT64, {TensorType::INT32}),
             {(*logits)[0], samples ? static_cast<int32_t>(*samples) : -1});
}

constexpr RuleRow indexingRows[] = {
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
    {BuiltinOperator::EMBEDDING_LOOKUP_SPARSE, embeddingLookupSparse},
    {BuiltinOperator::HASHTABLE_LOOKUP, hashtableLookup},
    {BuiltinOperator::WHERE, where},
    {BuiltinOperator::UNIQUE, unique},
    {BuiltinOperator::NON_MAX_SUPPRESSION_V4, nonMaxSuppressionV4},
    {BuiltinOperator::NON_MAX_SUPPRESSION_V5, nonMaxSuppressionV5},
    {BuiltinOperator::RANGE, range},
    {BuiltinOperator::BROADCAST_ARGS, broadcastArgs},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::indexingRules() { return indexingRows; }
