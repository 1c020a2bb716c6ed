#include "ir/shapes/Rules.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

/// Operators that move, copy or repeat elements as blocks. Slices and gathers are in Indexing.cpp.

using namespace origo;
using namespace origo::inference;

namespace {

Answer reshape(const ShapeSite &op) {
  auto from = op.shape(0);
  if (!from)
    return noAnswer();
  TensorType type = op.type(0);
  if (op.operand(1)) {
    if (auto to = op.values(1))
      return reshapeTo(op, type, *from, *to);
    auto shape = op.shape(1);
    if (shape && shape->size() == 1 && (*shape)[0] >= 0 && static_cast<size_t>((*shape)[0]) <= maxRank)
      return one(type, unknownShape((*shape)[0]));
    return unranked(type);
  }
  const auto *shape = op.options<circle::ReshapeOptions>().new_shape();
  if (!shape)
    return noAnswer();
  llvm::SmallVector<int64_t> to(shape->begin(), shape->end());
  // Old files write [0] for a scalar there, though not as an operand.
  if (to.size() == 1 && to.front() == 0 && elementCount(*from) == 1)
    to.clear();
  return reshapeTo(op, type, *from, to);
}

Answer squeeze(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  const auto &options = op.options<circle::SqueezeOptions>();
  llvm::SmallVector<bool> dropped(input->size(), false);
  if (options.squeeze_dims() && options.squeeze_dims()->size() != 0) {
    if (options.squeeze_dims()->size() > maxRank)
      return op.fail("too many axes");
    for (int32_t axis : *options.squeeze_dims()) {
      auto index = axisIn(axis, input->size());
      if (!index || (*input)[*index] > 1 || (*input)[*index] == 0)
        return op.fail("axis " + llvm::Twine(axis) + " is not one of size 1");
      dropped[*index] = true;
    }
  } else if (llvm::is_contained(*input, -1)) {
    return unranked(op.type(0)); // an unknown dimension may turn out to be 1
  } else {
    for (size_t i = 0; i < input->size(); ++i)
      dropped[i] = (*input)[i] == 1;
  }
  Shape shape;
  for (size_t i = 0; i < input->size(); ++i)
    if (!dropped[i])
      shape.push_back((*input)[i]);
  return one(op.type(0), std::move(shape));
}

Answer expandDims(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  auto axis = op.value(1);
  if (!axis)
    return one(op.type(0), unknownShape(input->size() + 1));
  auto index = axisIn(*axis, input->size() + 1);
  if (!index)
    return op.fail("axis " + llvm::Twine(*axis) + " is out of range");
  input->insert(input->begin() + *index, 1);
  return one(op.type(0), std::move(*input));
}

Answer permuted(const ShapeSite &op, const Shape &input, llvm::ArrayRef<int64_t> permutation) {
  if (permutation.size() != input.size())
    return op.fail("permutation of " + llvm::Twine(permutation.size()) + " axes for " + llvm::Twine(input.size()));
  Shape shape;
  llvm::SmallVector<bool> seen(input.size(), false);
  for (int64_t axis : permutation) {
    auto index = axisIn(axis, input.size());
    if (!index || seen[*index])
      return op.fail("not a permutation");
    seen[*index] = true;
    shape.push_back(input[*index]);
  }
  return one(op.type(0), std::move(shape));
}

Answer transpose(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  auto permutation = op.values(1);
  if (!permutation)
    return one(op.type(0), unknownShape(input->size()));
  return permuted(op, *input, *permutation);
}

Answer stablehloTranspose(const ShapeSite &op) {
  auto input = op.shape(0);
  const auto *axes = op.options2<circle::StablehloTransposeOptions>().permutation();
  if (!input || !axes || axes->size() > maxRank)
    return noAnswer();
  return permuted(op, *input, llvm::SmallVector<int64_t>(axes->begin(), axes->end()));
}

Answer concatenate(const ShapeSite &op, int64_t axis) {
  Shape shape;
  unsigned index = 0;
  int64_t sum = 0;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    auto part = op.shape(i);
    if (!part)
      return noAnswer();
    if (i == 0) {
      auto found = axisIn(axis, part->size());
      if (!found)
        return op.fail("axis " + llvm::Twine(axis) + " is out of range");
      index = *found;
      shape = *part;
    } else if (part->size() != shape.size()) {
      return op.fail("parts of different rank");
    } else if (op.type(i) != op.type(0)) {
      return op.fail("parts of different types");
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == index)
        continue;
      auto dim = mergeDim(shape[d], (*part)[d]);
      if (!dim)
        return op.fail("parts that differ in dimension " + llvm::Twine(d));
      shape[d] = *dim;
    }
    int32_t length = (*part)[index];
    // Every operand is an entry of a vector in the file, so the sum is far from 63 bits.
    sum = sum < 0 || length < 0 ? -1 : sum + length;
  }
  if (op.numOperands() == 0)
    return noAnswer();
  llvm::SmallVector<int64_t> dims(shape.begin(), shape.end());
  dims[index] = sum;
  return oneChecked(op, op.type(0), dims);
}

Answer concatenation(const ShapeSite &op) {
  const auto &options = op.options<circle::ConcatenationOptions>();
  return concatenate(op, options.axis());
}

Answer stablehloConcatenate(const ShapeSite &op) {
  return concatenate(op, op.options2<circle::StablehloConcatenateOptions>().dimension());
}

Answer split(const ShapeSite &op) {
  auto input = op.shape(1);
  size_t count = op.results().size();
  if (!input || count == 0)
    return noAnswer();
  TensorType type = op.type(1);
  if (!isSingle(op, 0))
    return op.fail("an axis that is not a single number");
  auto axis = op.value(0);
  if (!axis)
    return Results(count, ResultType{type, unknownShape(input->size()), true});
  auto index = axisIn(*axis, input->size());
  if (!index)
    return op.fail("axis " + llvm::Twine(*axis) + " is out of range");
  if (const auto &options = op.options<circle::SplitOptions>();
      op.op.options.table && options.num_splits() != static_cast<int64_t>(count))
    return op.fail(llvm::Twine(count) + " results of " + llvm::Twine(options.num_splits()) + " splits");
  int32_t &dim = (*input)[*index];
  if (dim >= 0) {
    if (dim % static_cast<int64_t>(count) != 0)
      return op.fail("dimension " + llvm::Twine(dim) + " is not divisible by " + llvm::Twine(count));
    dim = static_cast<int32_t>(dim / static_cast<int64_t>(count));
  }
  return Results(count, ResultType{type, std::move(*input), true});
}

Answer splitV(const ShapeSite &op) {
  auto input = op.shape(0);
  size_t count = op.results().size();
  if (!input || count == 0)
    return noAnswer();
  TensorType type = op.type(0);
  if (!isSingle(op, 2))
    return op.fail("an axis that is not a single number");
  auto axis = op.value(2);
  if (!axis)
    return Results(count, ResultType{type, unknownShape(input->size()), true});
  auto index = axisIn(*axis, input->size());
  if (!index)
    return op.fail("axis " + llvm::Twine(*axis) + " is out of range");
  int32_t dim = (*input)[*index];
  (*input)[*index] = -1;
  Results results(count, ResultType{type, *input, true});
  auto sizes = op.values(1);
  if (!sizes)
    return results;
  if (sizes->size() != count)
    return op.fail(llvm::Twine(count) + " results of " + llvm::Twine(sizes->size()) + " sizes");
  int64_t sum = 0;
  int rest = -1;
  for (size_t i = 0; i < count; ++i) {
    int64_t size = (*sizes)[i];
    if (size == -1 && rest < 0)
      rest = static_cast<int>(i);
    else if (size < 0 || llvm::AddOverflow(sum, size, sum) || (dim >= 0 && sum > dim))
      return op.fail("sizes that do not fit dimension " + llvm::Twine(dim));
    else if (size > std::numeric_limits<int32_t>::max())
      return op.fail("impossible size " + llvm::Twine(size));
    else
      results[i].shape[*index] = static_cast<int32_t>(size);
  }
  if (dim >= 0) {
    if (rest < 0 && sum != dim)
      return op.fail("sizes that do not add up to " + llvm::Twine(dim));
    if (rest >= 0)
      results[rest].shape[*index] = static_cast<int32_t>(dim - sum);
  }
  return results;
}

Answer pack(const ShapeSite &op) {
  const auto &options = op.options<circle::PackOptions>();
  if (op.numOperands() == 0)
    return noAnswer();
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  for (unsigned i = 1; i < op.numOperands(); ++i) {
    auto part = op.shape(i);
    if (!part)
      return noAnswer();
    if (part->size() != shape->size())
      return op.fail("parts of different rank");
    for (size_t d = 0; d < shape->size(); ++d) {
      auto dim = mergeDim((*shape)[d], (*part)[d]);
      if (!dim)
        return op.fail("parts of different shapes");
      (*shape)[d] = *dim;
    }
  }
  int64_t axis = options.axis();
  auto index = axisIn(axis, shape->size() + 1);
  if (!index)
    return op.fail("axis " + llvm::Twine(axis) + " is out of range");
  if (op.op.options.table && options.values_count() != static_cast<int64_t>(op.numOperands()))
    return op.fail(llvm::Twine(op.numOperands()) + " operands instead of " + llvm::Twine(options.values_count()));
  shape->insert(shape->begin() + *index, static_cast<int32_t>(op.numOperands()));
  return one(op.type(0), std::move(*shape));
}

Answer unpack(const ShapeSite &op) {
  const auto &options = op.options<circle::UnpackOptions>();
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  int64_t axis = options.axis();
  auto index = axisIn(axis, shape->size());
  if (!index)
    return op.fail("axis " + llvm::Twine(axis) + " is out of range");
  size_t count = op.results().size();
  int32_t dim = (*shape)[*index];
  if (dim >= 0 && static_cast<size_t>(dim) != count)
    return op.fail(llvm::Twine(count) + " results of dimension " + llvm::Twine(dim));
  shape->erase(shape->begin() + *index);
  return Results(count, ResultType{op.type(0), std::move(*shape), true});
}

/// The paddings are [rank, 2].
Answer pad(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  auto paddings = op.values(1);
  if (!paddings)
    return one(op.type(0), unknownShape(input->size()));
  if (paddings->size() != 2 * input->size())
    return op.fail(llvm::Twine(paddings->size()) + " paddings for " + llvm::Twine(input->size()) + " dimensions");
  llvm::SmallVector<int64_t> dims;
  for (size_t i = 0; i < input->size(); ++i) {
    int64_t before = (*paddings)[2 * i], after = (*paddings)[2 * i + 1], sum;
    if (before < 0 || after < 0 || llvm::AddOverflow(before, after, sum))
      return op.fail("impossible padding");
    int64_t dim = (*input)[i];
    if (dim >= 0 && llvm::AddOverflow(dim, sum, dim))
      return op.fail("impossible padding");
    dims.push_back(dim);
  }
  return oneChecked(op, op.type(0), dims);
}

/// No more than there is can be mirrored; REFLECT does not repeat the element at the border.
Answer mirrorPad(const ShapeSite &op) {
  auto input = op.shape(0);
  auto paddings = op.values(1);
  int64_t border = op.options<circle::MirrorPadOptions>().mode() == circle::MirrorPadMode::REFLECT;
  if (input && paddings && paddings->size() == 2 * input->size())
    for (size_t i = 0; i < paddings->size(); ++i)
      if (int32_t dim = (*input)[i / 2]; dim >= 0 && (*paddings)[i] > std::max<int64_t>(dim - border, 0))
        return op.fail("padding " + llvm::Twine((*paddings)[i]) + " is more than can be mirrored of " +
                       llvm::Twine(dim));
  return pad(op);
}

Answer tile(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  auto multiples = op.values(1);
  if (!multiples)
    return one(op.type(0), unknownShape(input->size()));
  if (multiples->size() != input->size())
    return op.fail(llvm::Twine(multiples->size()) + " multiples for " + llvm::Twine(input->size()) + " dimensions");
  llvm::SmallVector<int64_t> dims;
  for (size_t i = 0; i < input->size(); ++i) {
    int64_t dim = (*input)[i], multiple = (*multiples)[i];
    if (multiple < 0 || multiple > std::numeric_limits<int32_t>::max() ||
        (dim >= 0 && llvm::MulOverflow(dim, multiple, dim)))
      return op.fail("impossible multiple " + llvm::Twine(multiple));
    dims.push_back(dim);
  }
  return oneChecked(op, op.type(0), dims);
}

Answer broadcastTo(const ShapeSite &op) {
  auto sizes = op.values(1);
  TensorType type = op.type(0);
  if (!sizes) {
    auto shape = op.shape(1);
    if (shape && shape->size() == 1 && (*shape)[0] >= 0 && static_cast<size_t>((*shape)[0]) <= maxRank)
      return one(type, unknownShape((*shape)[0]));
    return unranked(type);
  }
  Answer answer = oneFromConstant(op, type, *sizes);
  auto input = op.shape(0);
  if (!answer || !input)
    return answer;
  const auto &to = answer->front().shape;
  bool fits = input->size() <= to.size();
  for (size_t i = 0; fits && i < input->size(); ++i) {
    int32_t dim = (*input)[input->size() - 1 - i];
    fits = dim < 0 || dim == 1 || dim == to[to.size() - 1 - i];
  }
  if (!fits)
    return op.fail("the operand does not broadcast to the shape");
  return answer;
}

Answer depthToSpace(const ShapeSite &op) {
  const auto &options = op.options<circle::DepthToSpaceOptions>();
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  int64_t block = options.block_size(), channels;
  if (input->size() != 4 || block <= 0 || llvm::MulOverflow(block, block, channels))
    return op.fail("impossible block size or rank");
  auto [n, h, w, c] = std::tuple((*input)[0], (*input)[1], (*input)[2], (*input)[3]);
  if (c >= 0 && c % channels != 0)
    return op.fail(llvm::Twine(c) + " channels are not divisible by the block");
  return oneChecked(op, op.type(0), {n, h < 0 ? -1 : h * block, w < 0 ? -1 : w * block, c < 0 ? -1 : c / channels});
}

Answer spaceToDepth(const ShapeSite &op) {
  const auto &options = op.options<circle::SpaceToDepthOptions>();
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  int64_t block = options.block_size();
  if (input->size() != 4 || block <= 0)
    return op.fail("impossible block size or rank");
  int64_t n = (*input)[0], h = (*input)[1], w = (*input)[2], c = (*input)[3];
  if ((h >= 0 && h % block != 0) || (w >= 0 && w % block != 0))
    return op.fail("height or width is not divisible by the block");
  if (c >= 0 && (llvm::MulOverflow(c, block, c) || llvm::MulOverflow(c, block, c)))
    return op.fail("impossible block size");
  return oneChecked(op, op.type(0), {n, h < 0 ? -1 : h / block, w < 0 ? -1 : w / block, c});
}

/// The blocks of the spatial dimensions, which follow the batch, and twice as many paddings or crops.
struct Blocks {
  llvm::SmallVector<int64_t, 8> sizes, margins;
  int64_t product = 1;
};

/// Nothing if they are not constant.
llvm::Expected<std::optional<Blocks>> readBlocks(const ShapeSite &op, size_t rank) {
  auto sizes = op.values(1), margins = op.values(2);
  if (!sizes || !margins)
    return std::nullopt;
  Blocks blocks{std::move(*sizes), std::move(*margins)};
  if (blocks.sizes.size() >= rank || blocks.margins.size() != 2 * blocks.sizes.size())
    return op.fail("blocks or margins of another length than the spatial dimensions");
  auto pairs = op.shape(2);
  if (pairs && (pairs->size() != 2 || (*pairs)[0] != static_cast<int64_t>(blocks.sizes.size())))
    return op.fail("margins are not two for each spatial dimension");
  for (int64_t size : blocks.sizes)
    if (size <= 0 || llvm::MulOverflow(blocks.product, size, blocks.product))
      return op.fail("impossible block size " + llvm::Twine(size));
  for (int64_t margin : blocks.margins)
    if (margin < 0 || margin > std::numeric_limits<int32_t>::max())
      return op.fail("impossible margin " + llvm::Twine(margin));
  return blocks;
}

Answer spaceToBatch(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  auto read = readBlocks(op, input->size());
  if (!read)
    return read.takeError();
  if (!*read)
    return one(op.type(0), unknownShape(input->size()));
  const Blocks &blocks = **read;
  llvm::SmallVector<int64_t> dims(input->begin(), input->end());
  if (dims[0] >= 0 && llvm::MulOverflow(dims[0], blocks.product, dims[0]))
    return op.fail("impossible block size");
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    int64_t &dim = dims[i + 1];
    if (dim < 0)
      continue;
    dim += blocks.margins[2 * i] + blocks.margins[2 * i + 1];
    if (dim % blocks.sizes[i] != 0)
      return op.fail("dimension " + llvm::Twine(i + 1) + " is not divisible by its block");
    dim /= blocks.sizes[i];
  }
  return oneChecked(op, op.type(0), dims);
}

Answer batchToSpace(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  auto read = readBlocks(op, input->size());
  if (!read)
    return read.takeError();
  if (!*read)
    return one(op.type(0), unknownShape(input->size()));
  const Blocks &blocks = **read;
  llvm::SmallVector<int64_t> dims(input->begin(), input->end());
  if (dims[0] >= 0) {
    if (dims[0] % blocks.product != 0)
      return op.fail("the batch is not divisible by the blocks");
    dims[0] /= blocks.product;
  }
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    int64_t &dim = dims[i + 1];
    if (dim < 0)
      continue;
    int64_t crops = blocks.margins[2 * i] + blocks.margins[2 * i + 1];
    if (llvm::MulOverflow(dim, blocks.sizes[i], dim) || dim < crops)
      return op.fail("impossible block size or crops of dimension " + llvm::Twine(i + 1));
    dim -= crops;
  }
  return oneChecked(op, op.type(0), dims);
}

Answer reverse(const ShapeSite &op) {
  auto input = op.shape(0);
  auto axes = op.values(1);
  if (!input || !axes)
    return sameAsFirst(op);
  llvm::SmallVector<bool> seen(input->size(), false);
  for (int64_t axis : *axes) {
    auto index = axisIn(axis, input->size());
    if (!index || std::exchange(seen[*index], true))
      return op.fail("axis " + llvm::Twine(axis) + " is out of range or stands twice");
  }
  return sameAsFirst(op);
}

Answer reverseSequence(const ShapeSite &op) {
  const auto &options = op.options<circle::ReverseSequenceOptions>();
  auto input = op.shape(0), lengths = op.shape(1);
  if (!input)
    return noAnswer();
  auto along = axisIn(options.seq_dim(), input->size()), batch = axisIn(options.batch_dim(), input->size());
  if (!along || !batch || *along == *batch)
    return op.fail("dimensions of sequence and batch that are out of range or the same");
  if (lengths && (lengths->size() != 1 || !mergeDim((*lengths)[0], (*input)[*batch])))
    return op.fail("not a length for each batch");
  return sameAsFirst(op);
}

Answer dynamicUpdateSlice(const ShapeSite &op) {
  auto input = op.shape(0), update = op.shape(1), begin = op.shape(2);
  if (!input)
    return noAnswer();
  bool fits = !update || update->size() == input->size();
  for (size_t i = 0; fits && update && i < input->size(); ++i)
    fits = (*update)[i] < 0 || (*input)[i] < 0 || (*update)[i] <= (*input)[i];
  if (!fits)
    return op.fail("an update that is larger than the operand or of another rank");
  if (auto count = begin ? elementCount(*begin) : -1; count && *count >= 0 && *count != int64_t(input->size()))
    return op.fail(llvm::Twine(*count) + " positions for " + llvm::Twine(input->size()) + " dimensions");
  return sameAsFirst(op);
}

Answer dilate(const ShapeSite &op) {
  auto input = op.shape(0);
  auto dilations = op.values(1);
  if (!input)
    return noAnswer();
  if (!dilations)
    return one(op.type(0), unknownShape(input->size()));
  if (dilations->size() != input->size())
    return op.fail(llvm::Twine(dilations->size()) + " dilations for " + llvm::Twine(input->size()) + " dimensions");
  llvm::SmallVector<int64_t> dims;
  for (size_t i = 0; i < input->size(); ++i) {
    int64_t dim = (*input)[i], dilation = (*dilations)[i];
    if (dilation <= 0 || dilation > std::numeric_limits<int32_t>::max())
      return op.fail("impossible dilation " + llvm::Twine(dilation));
    dims.push_back(dim > 0 ? (dim - 1) * dilation + 1 : dim);
  }
  return oneChecked(op, op.type(0), dims);
}

constexpr RuleRow movementRows[] = {
    {BuiltinOperator::RESHAPE, reshape},
    {BuiltinOperator::SQUEEZE, squeeze},
    {BuiltinOperator::EXPAND_DIMS, expandDims},
    {BuiltinOperator::TRANSPOSE, transpose},
    {BuiltinOperator::STABLEHLO_TRANSPOSE, stablehloTranspose},
    {BuiltinOperator::CONCATENATION, concatenation},
    {BuiltinOperator::STABLEHLO_CONCATENATE, stablehloConcatenate},
    {BuiltinOperator::SPLIT, split},
    {BuiltinOperator::SPLIT_V, splitV},
    {BuiltinOperator::PACK, pack},
    {BuiltinOperator::UNPACK, unpack},
    {BuiltinOperator::PAD, pad},
    {BuiltinOperator::PADV2, pad},
    {BuiltinOperator::MIRROR_PAD, mirrorPad},
    {BuiltinOperator::TILE, tile},
    {BuiltinOperator::BROADCAST_TO, broadcastTo},
    {BuiltinOperator::DEPTH_TO_SPACE, depthToSpace},
    {BuiltinOperator::SPACE_TO_DEPTH, spaceToDepth},
    {BuiltinOperator::SPACE_TO_BATCH_ND, spaceToBatch},
    {BuiltinOperator::BATCH_TO_SPACE_ND, batchToSpace},
    {BuiltinOperator::DILATE, dilate},
    {BuiltinOperator::REVERSE_V2, reverse},
    {BuiltinOperator::REVERSE_SEQUENCE, reverseSequence},
    {BuiltinOperator::DYNAMIC_UPDATE_SLICE, dynamicUpdateSlice},
    {BuiltinOperator::STABLEHLO_DYNAMIC_UPDATE_SLICE, sameAsFirst},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::movementRules() { return movementRows; }
