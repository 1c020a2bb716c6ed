#include "eval/Movement.h"

#include "ir/ConstantView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <cstring>

namespace origo {

namespace {

using Result = llvm::Expected<std::optional<Payload>>;
using Shape = llvm::SmallVector<uint64_t, 6>;

Result none(const char *&why, const char *reason) {
  why = reason;
  return std::optional<Payload>();
}

Shape strides(llvm::ArrayRef<int32_t> shape) {
  Shape strides(shape.size());
  uint64_t step = 1;
  for (size_t i = shape.size(); i-- > 0; step *= shape[i])
    strides[i] = step;
  return strides;
}

/// result[i] = source[index(i)], elements of `size` bytes; every index must be in range.
template <class Index>
Result gather(PayloadStore &store, const Value &x, const Value &result, uint64_t size, Index index) {
  const uint8_t *data = x.payload().bytes().data();
  llvm::Expected<Payload> payload =
      store.make(*result.elementCount() * size, [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
        for (uint64_t i = 0; i < window.size() / size; ++i)
          std::memcpy(window.data() + i * size, data + index(offset / size + i) * size, size);
      });
  if (!payload)
    return payload.takeError();
  return std::optional<Payload>(std::move(*payload));
}

/// `shape`: of the result, perhaps with a dimension taken apart.
Result walk(const Operator &op, PayloadStore &store, uint64_t size, llvm::ArrayRef<int32_t> shape, const Walk &walk) {
  llvm::Expected<Payload> payload = walkElements(op.operand(0)->payload(), size, shape, walk, store);
  if (!payload)
    return payload.takeError();
  return std::optional<Payload>(std::move(*payload));
}

Result transpose(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  auto permutation = readConstant<int32_t>(op.operand(1));
  if (!permutation || permutation->size() != x.shape.size() || result.shape.size() != x.shape.size())
    return none(why, "the permutation is not constant");
  auto axes = llvm::seq<int32_t>(0, x.rank());
  if (!std::is_permutation(permutation->begin(), permutation->end(), axes.begin()))
    return none(why, "not a permutation");
  for (size_t i = 0; i < permutation->size(); ++i)
    if (result.shape[i] != x.shape[(*permutation)[i]])
      return none(why, "the permutation does not fit the shapes");
  return walk(op, store, size, result.shape, permuting(x.shape, *permutation));
}

Result gatherAxis(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  auto indices = readIntegers(op.operand(1), 1 << 20);
  auto *options = op.options.as<circle::GatherOptions>();
  int64_t axis = options ? options->axis() : 0;
  if (axis < 0)
    axis += x.rank();
  if (!indices || axis < 0 || axis >= x.rank() || (options && options->batch_dims() != 0))
    return none(why, "the indices are not constant, or batched");
  int64_t length = x.shape[axis];
  if (llvm::any_of(*indices, [&](int64_t i) { return i < 0 || i >= length; }))
    return none(why, "an index is out of range");
  uint64_t inner = strides(x.shape)[axis], count = indices->size();
  if (*result.elementCount() * length != *x.elementCount() * count || !count || !inner)
    return none(why, "the result is not of the stated shape");
  return gather(store, x, result, size, [&](uint64_t i) {
    return i / inner / count * inner * length + (*indices)[i / inner % count] * inner + i % inner;
  });
}

Result slice(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  auto begin = readIntegers(op.operand(1));
  if (!begin || begin->size() != x.shape.size() || result.rank() != x.rank())
    return none(why, "the begin is not constant");
  llvm::SmallVector<int64_t, 6> step(begin->size(), 1);
  if (op.code == BuiltinOperator::STRIDED_SLICE) {
    auto given = readIntegers(op.operand(3));
    auto *options = op.options.as<circle::StridedSliceOptions>();
    bool plain = !options || (!options->ellipsis_mask() && !options->new_axis_mask() && !options->shrink_axis_mask() &&
                              !options->offset());
    if (!given || given->size() != step.size() || !plain || llvm::any_of(*given, [](int64_t s) { return s <= 0; }))
      return none(why, "strides or masks that have no kernel");
    step.assign(given->begin(), given->end());
    for (size_t d = 0; d < begin->size(); ++d) {
      if (options && options->begin_mask() >> d & 1)
        (*begin)[d] = 0;
      else if ((*begin)[d] < 0)
        (*begin)[d] += x.shape[d];
    }
  }
  for (size_t d = 0; d < begin->size(); ++d)
    if ((*begin)[d] < 0 || (result.shape[d] > 0 && (*begin)[d] + (result.shape[d] - 1) * step[d] >= x.shape[d]))
      return none(why, "a slice out of range");
  Shape from = strides(x.shape);
  Walk steps;
  for (size_t d = 0; d < from.size(); ++d) {
    steps.base += (*begin)[d] * from[d];
    steps.steps.push_back(step[d] * from[d]);
  }
  return walk(op, store, size, result.shape, steps);
}

/// Tile: dimension d of the result is two, how often and where.
Result tile(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  auto multiples = readIntegers(op.operand(1));
  if (!multiples || multiples->size() != x.shape.size() || result.rank() != x.rank())
    return none(why, "the multiples are not constant");
  Shape from = strides(x.shape);
  llvm::SmallVector<int32_t, 8> shape;
  Walk steps;
  for (size_t d = 0; d < from.size(); ++d) {
    int64_t times = (*multiples)[d];
    if (times < 0 || times > result.shape[d] || times * x.shape[d] != result.shape[d])
      return none(why, "the result is not of the stated shape");
    shape.append({static_cast<int32_t>(times), x.shape[d]});
    steps.steps.append({0, static_cast<int64_t>(from[d])});
  }
  return walk(op, store, size, shape, steps);
}

Result reverse(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  auto axes = readIntegers(op.operand(1));
  if (!axes || result.shape != x.shape)
    return none(why, "the axes are not constant, or the shape changes");
  Shape from = strides(x.shape);
  Walk steps;
  steps.steps.append(from.begin(), from.end());
  for (int64_t axis : *axes) {
    axis += axis < 0 ? x.rank() : 0;
    if (axis < 0 || axis >= x.rank() || steps.steps[axis] < 0)
      return none(why, "an axis does not fit the shape, or comes twice");
    steps.base += (x.shape[axis] - 1) * steps.steps[axis];
    steps.steps[axis] = -steps.steps[axis];
  }
  return walk(op, store, size, result.shape, steps);
}

/// DepthToSpace and SpaceToDepth: blocks of the bigger image are runs of channels of the deeper one.
Result blocks(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  bool toSpace = op.code == BuiltinOperator::DEPTH_TO_SPACE;
  int64_t block = 0;
  if (auto *options = op.options.as<circle::DepthToSpaceOptions>(); options && toSpace)
    block = options->block_size();
  else if (auto *options = op.options.as<circle::SpaceToDepthOptions>(); options && !toSpace)
    block = options->block_size();
  const Value &image = toSpace ? result : x, &deep = toSpace ? x : result;
  if (image.rank() != 4 || deep.rank() != 4 || block <= 0 || block > 1 << 15 || image.shape[0] != deep.shape[0] ||
      image.shape[1] != deep.shape[1] * block || image.shape[2] != deep.shape[2] * block ||
      deep.shape[3] != image.shape[3] * block * block)
    return none(why, "the block does not fit the shapes");
  int32_t b = static_cast<int32_t>(block), channels = image.shape[3];
  int64_t pixel = channels, run = b * pixel, deepPixel = b * run;
  if (toSpace) // in the order of the image: batch, row, row in the block, column, column in the block, channel
    return walk(op, store, size, {deep.shape[0], deep.shape[1], b, deep.shape[2], b, channels},
                {0, {deepPixel * deep.shape[1] * deep.shape[2], deep.shape[2] * deepPixel, run, deepPixel, pixel, 1}});
  int64_t row = image.shape[2] * pixel;
  return walk(op, store, size, {deep.shape[0], deep.shape[1], deep.shape[2], b, b, channels},
              {0, {image.shape[1] * row, b * row, b * pixel, row, pixel, 1}});
}

Result broadcastTo(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  std::optional<Walk> steps = broadcasting(x.shape, result.shape);
  if (!steps)
    return none(why, "does not broadcast to the stated shape");
  return walk(op, store, size, result.shape, *steps);
}

/// GatherNd: the last dimension of the indices is a position in the leading dimensions of the operand.
Result gatherNd(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  auto indices = readIntegers(op.operand(1), 1 << 20);
  if (!indices || op.operand(1)->shape.empty())
    return none(why, "the indices are not constant");
  int32_t depth = op.operand(1)->shape.back();
  if (depth <= 0 || depth > x.rank())
    return none(why, "the indices do not fit the shape");
  Shape from = strides(x.shape);
  uint64_t inner = from[depth - 1], count = indices->size() / depth;
  llvm::SmallVector<uint64_t> begins;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t begin = 0;
    for (int32_t d = 0; d < depth; ++d) {
      int64_t at = (*indices)[i * depth + d];
      if (at < 0 || at >= x.shape[d])
        return none(why, "an index is out of range");
      begin += at * from[d];
    }
    begins.push_back(begin);
  }
  if (*result.elementCount() != count * inner)
    return none(why, "the result is not of the stated shape");
  return gather(store, x, result, size, [&](uint64_t i) { return begins[i / inner] + i % inner; });
}

/// Concatenation and Pack: equal outer parts of all operands, one behind the other.
Result join(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &result = *op.result();
  int64_t axis;
  if (op.code == BuiltinOperator::PACK) {
    auto *options = op.options.as<circle::PackOptions>();
    axis = options ? options->axis() : 0;
  } else {
    auto *options = op.options.as<circle::ConcatenationOptions>();
    axis = options ? options->axis() : 0;
    if (options && options->fused_activation_function() != circle::ActivationFunctionType::NONE)
      return none(why, "has a fused activation");
  }
  if (axis < 0)
    axis += result.rank();
  if (axis < 0 || axis >= result.rank())
    return none(why, "the axis does not fit the shape");
  uint64_t outer = 1, whole = 0;
  for (int64_t d = 0; d < axis; ++d)
    outer *= result.shape[d];
  struct Part {
    const uint8_t *data;
    uint64_t bytes; ///< of one outer row
  };
  llvm::SmallVector<Part> parts;
  for (const Use &use : const_cast<Operator &>(op).operands()) {
    const Value *x = use.get();
    if (!isDense(x, size) || x->type != result.type || !outer || *x->elementCount() % outer)
      return none(why, "an operand is not a dense constant");
    parts.push_back({x->payload().bytes().data(), *x->elementCount() / outer * size});
    whole += parts.back().bytes;
  }
  constexpr uint64_t limit = 64 << 20; // one row at a time would be better for more; nobody has had that
  if (!whole || whole * outer != *result.elementCount() * size || whole * outer > limit)
    return none(why, "the result is not of the stated shape, or very big");
  std::string bytes;
  for (uint64_t row = 0; row < outer; ++row)
    for (const Part &part : parts)
      bytes.append(reinterpret_cast<const char *>(part.data) + row * part.bytes, part.bytes);
  llvm::Expected<Payload> payload = store.make(bytes.size(), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t at) {
    std::memcpy(window.data(), bytes.data() + at, window.size());
  });
  if (!payload)
    return payload.takeError();
  return std::optional<Payload>(std::move(*payload));
}

} // namespace

bool isDense(const Value *v, uint64_t size) {
  return v && v->isConstant() && !v->sparsity && !v->compression && !v->externalBuffer && v->payload().hasBytes() &&
         v->elementCount() && v->payload().size() == *v->elementCount() * size;
}

llvm::Expected<Payload> walkElements(const Payload &elements, uint64_t size, llvm::ArrayRef<int32_t> shape,
                                     const Walk &walk, PayloadStore &store) {
  uint64_t count = size;
  for (int32_t dimension : shape)
    count *= dimension;
  const uint8_t *data = elements.bytes().data();
  Shape to = strides(shape);
  return store.make(count, [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
    for (uint64_t i = 0; i < window.size() / size; ++i) {
      uint64_t number = offset / size + i;
      int64_t at = walk.base;
      for (size_t d = 0; d < to.size(); ++d)
        at += static_cast<int64_t>(number / to[d] % shape[d]) * walk.steps[d];
      std::memcpy(window.data() + i * size, data + at * size, size);
    }
  });
}

Walk permuting(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int32_t> permutation) {
  Shape from = strides(shape);
  Walk walk;
  for (int32_t axis : permutation)
    walk.steps.push_back(from[axis]);
  return walk;
}

std::optional<Walk> broadcasting(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int32_t> result) {
  if (shape.size() > result.size())
    return std::nullopt;
  Shape from = strides(shape);
  size_t missing = result.size() - shape.size();
  Walk walk;
  walk.steps.assign(missing, 0);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && shape[d] != result[missing + d])
      return std::nullopt;
    walk.steps.push_back(shape[d] == 1 ? 0 : from[d]);
  }
  return walk;
}

llvm::Expected<std::optional<Payload>> moveElements(const Operator &op, PayloadStore &store, const char *&why) {
  const Value *x = op.operand(0), *result = op.result();
  std::optional<unsigned> bits = bitsPerElement(x->type);
  if (!bits || *bits % 8 || x->type != result->type)
    return none(why, "no kernel for the type");
  uint64_t size = *bits / 8;
  if (!isDense(x, size))
    return none(why, "not a dense constant");
  switch (op.code) {
  case BuiltinOperator::RESHAPE:
  case BuiltinOperator::SQUEEZE:
  case BuiltinOperator::EXPAND_DIMS:
    return std::optional<Payload>(x->payload()); // the bytes are shared
  case BuiltinOperator::TRANSPOSE:
    return transpose(op, store, size, why);
  case BuiltinOperator::GATHER:
    return gatherAxis(op, store, size, why);
  case BuiltinOperator::SLICE:
  case BuiltinOperator::STRIDED_SLICE:
    return slice(op, store, size, why);
  case BuiltinOperator::TILE:
    return tile(op, store, size, why);
  case BuiltinOperator::BROADCAST_TO:
    return broadcastTo(op, store, size, why);
  case BuiltinOperator::REVERSE_V2:
    return reverse(op, store, size, why);
  case BuiltinOperator::DEPTH_TO_SPACE:
  case BuiltinOperator::SPACE_TO_DEPTH:
    return blocks(op, store, size, why);
  case BuiltinOperator::GATHER_ND:
    return gatherNd(op, store, size, why);
  default:
    return join(op, store, size, why);
  }
}

} // namespace origo
