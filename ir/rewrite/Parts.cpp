#include "ir/rewrite/Parts.h"

#include "ir/rewrite/Graph.h"

#include "ir/ConstantView.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::rewrite {

using enum circle::BuiltinOperator;

static std::optional<int> axisBelow(int64_t axis, int rank) {
  if (axis < 0)
    axis += rank;
  return axis >= 0 && axis < rank ? std::optional(static_cast<int>(axis)) : std::nullopt;
}

std::optional<int> joinedAlong(const Operator &op) {
  constexpr unsigned most = 64; // each part of what is put together of n costs n
  const Value *first = op.operand(0);
  if (!first || !first->hasShape || op.numOperands() > most)
    return std::nullopt;
  if (const auto *options = op.code == CONCATENATION ? op.options.as<circle::ConcatenationOptions>() : nullptr)
    return axisBelow(options->axis(), first->rank());
  if (const auto *options = op.code == PACK ? op.options.as<circle::PackOptions>() : nullptr)
    return axisBelow(options->axis(), first->rank() + 1);
  return std::nullopt;
}

std::optional<Positions> placeOf(const Operator &joined, unsigned i) {
  std::optional<int> axis = joinedAlong(joined);
  if (!axis || i >= joined.numOperands())
    return std::nullopt;
  if (joined.code == PACK)
    return Positions{i, i + int64_t{1}};
  Positions place{0, 0};
  for (unsigned k = 0; k <= i; ++k) {
    const Value *operand = joined.operand(k);
    if (!operand || !operand->isStatic() || *axis >= operand->rank())
      return std::nullopt;
    place = {place.end, place.end + operand->shape[*axis]};
  }
  return place;
}

static std::optional<Positions> ofSlice(const Operator &op, int axis, int64_t size) {
  auto begins = readIntegers(op.operand(1));
  const Value *result = op.result();
  if (!begins || axis >= static_cast<int>(begins->size()) || axis >= result->rank() || statedShape(*result)[axis] < 0)
    return std::nullopt;
  Positions taken{(*begins)[axis], (*begins)[axis] + result->shape[axis]};
  return taken.begin >= 0 && taken.end <= size ? std::optional(taken) : std::nullopt;
}

static std::optional<Positions> ofStridedSlice(const Operator &op, int axis, int64_t size) {
  const auto *options = op.options.as<circle::StridedSliceOptions>();
  auto begins = readIntegers(op.operand(1)), ends = readIntegers(op.operand(2)), strides = readIntegers(op.operand(3));
  if (!options || !begins || !ends || !strides || options->ellipsis_mask() || options->new_axis_mask())
    return std::nullopt;
  auto has = [&](int32_t mask) { return (mask >> axis & 1) != 0; };
  if (axis >= static_cast<int>(std::min({begins->size(), ends->size(), strides->size()})))
    return axis < 32 ? std::optional(Positions{0, size}) : std::nullopt;
  if ((*strides)[axis] < 1)
    return std::nullopt;
  auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  int64_t begin = has(options->begin_mask()) ? 0 : clamped((*begins)[axis]);
  if (has(options->shrink_axis_mask()))
    return begin < size ? std::optional(Positions{begin, begin + 1}) : std::nullopt;
  int64_t end = has(options->end_mask()) ? size : clamped((*ends)[axis] + (options->offset() ? begin : 0));
  return begin < end ? std::optional(Positions{begin, end}) : std::nullopt;
}

static std::optional<Positions> ofGather(const Operator &op, int axis, int64_t size) {
  const auto *options = op.options.as<circle::GatherOptions>();
  auto indices = readIntegers(op.operand(1));
  if (!indices || indices->empty() || (options && options->batch_dims() != 0) ||
      axisBelow(options ? options->axis() : 0, op.operand(0)->rank()) != axis)
    return std::nullopt;
  auto [least, greatest] = std::minmax_element(indices->begin(), indices->end());
  return *least >= 0 && *greatest < size ? std::optional(Positions{*least, *greatest + 1}) : std::nullopt;
}

std::optional<Positions> placeOfPart(const Operator &part, unsigned i, int axis) {
  const Value *whole = part.operand(part.code == SPLIT ? 1 : 0);
  auto count = static_cast<int64_t>(part.results().size());
  if (!whole || !whole->isStatic() || count == 0)
    return std::nullopt;
  std::optional<int> along;
  if (const auto *options = part.code == UNPACK ? part.options.as<circle::UnpackOptions>() : nullptr)
    along = axisBelow(options->axis(), whole->rank());
  else if (auto axes = part.code == SPLIT ? readIntegers(part.operand(0)) : std::nullopt; axes && axes->size() == 1)
    along = axisBelow((*axes)[0], whole->rank());
  if (along != axis || whole->shape[axis] % count != 0)
    return std::nullopt;
  int64_t size = whole->shape[axis] / count;
  return Positions{i * size, (i + 1) * size};
}

std::optional<Positions> takenFrom(const Operator &part, int axis) {
  if (part.code == SPLIT || part.code == UNPACK) {
    std::optional<Positions> all;
    for (auto [i, result] : llvm::enumerate(part.results())) {
      auto place = placeOfPart(part, static_cast<unsigned>(i), axis);
      if (!place)
        return std::nullopt;
      if (result && !result->unused())
        all = all ? Positions{all->begin, place->end} : *place;
    }
    return all;
  }
  const Value *whole = part.operand(0);
  if (!whole || !whole->hasShape || axis >= whole->rank() || statedShape(*whole)[axis] < 0 || !part.result())
    return std::nullopt;
  int64_t size = whole->shape[axis];
  switch (part.code) {
  case SLICE:
    return ofSlice(part, axis, size);
  case STRIDED_SLICE:
    return ofStridedSlice(part, axis, size);
  case GATHER:
    return ofGather(part, axis, size);
  default:
    return std::nullopt;
  }
}

} // namespace origo::rewrite
