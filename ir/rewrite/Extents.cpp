#include "ir/rewrite/Extents.h"

#include "ir/ConstantView.h"
#include "ir/rewrite/Match.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace origo::rewrite {

/// Further ones are no arithmetic of shapes, and 64 bits hold the product of two.
static constexpr int64_t mostNumber = 1 << 30;
static constexpr uint64_t mostRests = 4096;

/// The same with another period, a multiple of its own.
std::optional<Extent> Extent::over(uint64_t period) const {
  if (period > mostRests)
    return std::nullopt;
  auto own = static_cast<int64_t>(rests.size()), wanted = static_cast<int64_t>(period);
  Extent wider(axis, slope * (wanted / own), {});
  for (int64_t r = 0; r < wanted; ++r)
    wider.rests.push_back(rests[r % own] + r / own * slope);
  return wider;
}

/// Over a period whose slope the divisor divides, what q adds leaves no remainder.
std::optional<Extent> Extent::divided(Op code, int64_t by) const {
  bool isNegative = slope < 0 || llvm::any_of(rests, [](int64_t rest) { return rest < 0; });
  if (by < 1 || (code == Op::DIV && isNegative)) // which rounds towards zero
    return std::nullopt;
  std::optional<Extent> result = over(rests.size() * (by / std::gcd(slope, by)));
  if (!result)
    return std::nullopt;
  for (int64_t &rest : result->rests) {
    int64_t remainder = (rest % by + by) % by;
    rest = code == Op::FLOOR_MOD ? remainder : (rest - remainder) / by;
  }
  result->slope = code == Op::FLOOR_MOD ? 0 : result->slope / by;
  return result;
}

std::optional<Extent> Extent::computed(Op code, const Extent &a, const Extent &b) {
  if (a.axis >= 0 && b.axis >= 0 && a.axis != b.axis)
    return std::nullopt;
  uint64_t period = std::lcm(a.rests.size(), b.rests.size());
  std::optional<Extent> x = a.over(period), y = b.over(period);
  if (!x || !y)
    return std::nullopt;
  auto each = [&](auto f) {
    for (auto [one, other] : llvm::zip(x->rests, y->rests))
      one = f(one, other);
    x->axis = std::max(a.axis, b.axis);
  };
  switch (code) {
  case Op::ADD:
    each([](int64_t one, int64_t other) { return one + other; });
    x->slope += y->slope;
    break;
  case Op::SUB:
    each([](int64_t one, int64_t other) { return one - other; });
    x->slope -= y->slope;
    break;
  case Op::MUL:
    if (!a.number() && !b.number())
      return std::nullopt;
    each([](int64_t one, int64_t other) { return one * other; });
    x->slope = a.number() ? *a.number() * y->slope : x->slope * *b.number();
    break;
  case Op::MAXIMUM:
  case Op::MINIMUM:
    if (x->slope != y->slope)
      return std::nullopt;
    each([&](int64_t one, int64_t other) { return (code == Op::MAXIMUM) == (one > other) ? one : other; });
    break;
  case Op::DIV:
  case Op::FLOOR_DIV:
  case Op::FLOOR_MOD:
    if (!b.number() || !(x = a.divided(code, *b.number())))
      return std::nullopt;
    break;
  default:
    return std::nullopt;
  }
  auto isBig = [](int64_t number) { return std::abs(number) > mostNumber; };
  return isBig(x->slope) || llvm::any_of(x->rests, isBig) ? std::nullopt : x;
}

std::optional<int64_t> Extent::number() const {
  bool same = slope == 0 && llvm::all_of(rests, [&](int64_t rest) { return rest == rests.front(); });
  return same ? std::optional(rests.front()) : std::nullopt;
}

std::optional<int64_t> Extents::more(size_t i, const Extents &others) const {
  std::optional<Extent> difference = Extent::computed(Op::SUB, list[i], others.list[i]);
  return difference ? difference->number() : std::nullopt;
}

/// Of integers; none: it is not known before run time. What files say of no shape, they say of a scalar.
static std::optional<uint64_t> countOf(const Value &value) {
  bool isList = llvm::is_contained({TensorType::INT32, TensorType::INT64}, value.type);
  if (!isList || value.isStatic())
    return isList ? value.elementCount() : std::nullopt;
  return value.shape.empty() && value.shapeSignature().empty() ? std::optional<uint64_t>(1) : std::nullopt;
}

/// Puts lists together as PACK and CONCATENATION do.
static std::optional<ExtentList> joined(const Operator &op, llvm::ArrayRef<ExtentList> parts) {
  std::optional<int> axis = joinedAlong(op);
  if (!axis)
    return std::nullopt;
  size_t rows = 1;
  for (int32_t size : llvm::ArrayRef<int32_t>(op.operand(0)->shape).take_front(*axis))
    rows *= size;
  ExtentList all;
  for (size_t row = 0; row < rows; ++row)
    for (const ExtentList &part : parts) {
      size_t width = part.size() / rows;
      all.append(part.begin() + row * width, part.begin() + (row + 1) * width);
    }
  return all;
}

/// What an operator of integers makes of its operands, each of which is known.
static std::optional<ExtentList> computed(const Operator &op, llvm::ArrayRef<ExtentList> operands) {
  auto isScalar = [](const ExtentList &list) { return list.size() == 1; };
  if (operands.size() != 2 || activationOf(op) != Activation::NONE)
    return std::nullopt;
  const ExtentList &a = operands[0], &b = operands[1];
  if (!isScalar(a) && !isScalar(b) && op.operand(0)->shape != op.operand(1)->shape)
    return std::nullopt;
  ExtentList results;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::optional<Extent> one = Extent::computed(op.code, a[isScalar(a) ? 0 : i], b[isScalar(b) ? 0 : i]);
    if (!one)
      return std::nullopt;
    results.push_back(*one);
  }
  return results;
}

/// The positions that an operator takes of a list, one after the other.
static std::optional<Positions> taken(const Operator &op, const Value &result) {
  const Value *whole = op.operand(op.code == Op::SPLIT ? 1 : 0);
  if (!whole || whole->rank() != 1)
    return std::nullopt;
  bool isPart = op.code == Op::SPLIT || op.code == Op::UNPACK;
  auto place = isPart ? placeOfPart(op, result.resultIndex(), 0) : takenFrom(op, 0);
  int64_t size = place ? place->end - place->begin : 0;
  bool inOrder = op.code != Op::GATHER || size == 1;
  return inOrder && countOf(result) == static_cast<uint64_t>(size) ? place : std::nullopt;
}

/// What an operator makes of its operands, where each that is no position is known.
static std::optional<ExtentList> made(const Operator &op, const Value &result, llvm::ArrayRef<ExtentList> operands) {
  switch (op.code) {
  case Op::RESHAPE:
  case Op::SQUEEZE:
  case Op::EXPAND_DIMS:
  case Op::CAST:
    return operands.front();
  case Op::PACK:
  case Op::CONCATENATION:
    return joined(op, operands);
  case Op::SLICE:
  case Op::STRIDED_SLICE:
  case Op::GATHER:
  case Op::SPLIT:
  case Op::UNPACK: {
    const ExtentList &whole = operands[op.code == Op::SPLIT ? 1 : 0];
    std::optional<Positions> place = taken(op, result);
    return place ? std::optional(ExtentList(whole.begin() + place->begin, whole.begin() + place->end)) : std::nullopt;
  }
  default:
    return computed(op, operands);
  }
}

std::optional<Extents> Match::extents(Tensor sizes, Tensor of) {
  constexpr unsigned most = 64; // tensors
  Extents extents;
  llvm::SmallDenseMap<const Value *, ExtentList, 16> known;
  auto listOf = [&](Value *value, auto &&listOf) -> std::optional<ExtentList> {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    std::optional<ExtentList> list;
    Operator *op = value ? value->producer() : nullptr;
    if (!value || !countOf(*value) || known.size() >= most)
      return std::nullopt;
    if (std::optional<Integers> numbers = integers(Tensor(value))) {
      extents.bound.parents.push_back(Tensor(value));
      list.emplace();
      for (size_t i = 0; i < numbers->size(); ++i)
        list->push_back(Extent::of(numbers->at(i)));
    } else if (op && op->code == Op::SHAPE && op->operand(0) == of.value()) {
      list.emplace();
      for (auto [axis, size] : llvm::enumerate(of.statedShape()))
        list->push_back(size < 0 ? Extent::ofSize(static_cast<int>(axis)) : Extent::of(size));
    } else if (op && op->numOperands() > 0) {
      llvm::SmallVector<ExtentList, 4> operands;
      for (const Use &use : op->operands()) {
        std::optional<ExtentList> operand = listOf(use.get(), listOf);
        if (!operand)
          return std::nullopt;
        operands.push_back(std::move(*operand));
      }
      list = made(*op, *value, operands);
    }
    if (!list || list->size() != *countOf(*value))
      return std::nullopt;
    if (op && !llvm::is_contained(consumed, op))
      consumed.push_back(op);
    known[value] = *list;
    return list;
  };
  std::optional<ExtentList> list = listOf(sizes.value(), listOf);
  if (!list)
    return std::nullopt;
  extents.list = std::move(*list);
  return extents;
}

} // namespace origo::rewrite
