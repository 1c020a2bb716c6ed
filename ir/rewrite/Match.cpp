#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <utility>

namespace origo::rewrite {

Tensor Match::operator[](const Expr &name) const {
  auto known = bound.find(name.key());
  return known == bound.end() ? Tensor() : Tensor(known->second);
}

Tensor Match::at(unsigned operand, const Expr &name) const {
  return operand < each.size() ? Tensor(each[operand].bound.lookup(name.key())) : Tensor();
}

Node Match::op(const Expr &operation) const {
  Operator *found = operations.lookup(operation.key());
  if (!found) {
    Turn::mistake("an operator was looked into that is no part of the match");
    return root();
  }
  inspected.push_back(found);
  return Node(found);
}

Node Match::op(unsigned operand, const Expr &operation) const {
  Operator *found = operand < each.size() ? each[operand].operations.lookup(operation.key()) : nullptr;
  if (!found) {
    Turn::mistake("an operator was looked into that is no part of the match");
    return root();
  }
  inspected.push_back(found);
  return Node(found);
}

std::optional<Integers> Match::integers(Tensor constant) {
  auto numbers = readIntegers(constant.value());
  if (!numbers)
    return std::nullopt;
  read.push_back(constant.value());
  Integers integers;
  integers.numbers = *numbers;
  integers.parents = {constant};
  return integers;
}

double Reals::at(size_t i) const {
  (void)bound.known();
  if (i < numbers.size())
    return numbers[i];
  Turn::mistake("a number was asked for behind the last one");
  return 0;
}

std::optional<Reals> Match::reals(Tensor constant) {
  auto numbers = readConstant<float>(constant.value());
  if (!numbers)
    return std::nullopt;
  read.push_back(constant.value());
  Reals reals;
  reals.numbers.assign(numbers->begin(), numbers->end());
  reals.bound.parents = {constant};
  return reals;
}

/// Goes through a payload of numbers, or of truth values, until one does not pass.
static bool everyElementOf(const Payload &payload, TensorType type, llvm::function_ref<bool(double)> holds) {
  auto all = [&]<class T>(T) {
    if (payload.empty() || payload.size() % sizeof(T))
      return false;
    std::vector<T> window(std::min<uint64_t>(payload.size(), 64 << 10) / sizeof(T));
    for (uint64_t at = 0; at < payload.size(); at += window.size() * sizeof(T)) {
      window.resize(std::min<uint64_t>(window.size(), (payload.size() - at) / sizeof(T)));
      payload.read(at, {reinterpret_cast<uint8_t *>(window.data()), window.size() * sizeof(T)});
      if (!llvm::all_of(window, [&](T number) { return holds(static_cast<double>(number)); }))
        return false;
    }
    return true;
  };
  switch (type) {
  case TensorType::FLOAT32:
    return all(float());
  case TensorType::FLOAT64:
    return all(double());
  case TensorType::INT32:
    return all(int32_t());
  case TensorType::INT64:
    return all(int64_t());
  case TensorType::INT8:
    return all(int8_t());
  case TensorType::UINT8:
    return all(uint8_t());
  case TensorType::INT16:
    return all(int16_t());
  case TensorType::BOOL:
    return all(uint8_t());
  default:
    return false;
  }
}

bool Match::every(Tensor constant, bool (*holds)(double)) {
  if (!constant || !constant.isConstant())
    return false; // a test of anything else does not count as reading it
  read.push_back(constant.value());
  return everyElementOf(constant.value()->payload(), constant.type(), holds);
}

bool Match::isAll(Tensor constant, double number) const {
  if (!constant.isDenseConstant() || constant.isQuantized())
    return false;
  auto holds = [number](double n) { return n == number; };
  return everyElementOf(constant.value()->payload(), constant.type(), holds);
}

bool Match::isEvery(Tensor constant, double number) {
  if (!isAll(constant, number))
    return false;
  read.push_back(constant.value());
  return true;
}

bool Match::isEvery(Tensor constant, Quotient number) {
  auto nearest = static_cast<double>(static_cast<float>(number.rounded()));
  if (!isEvery(constant, nearest))
    return false;
  if (!number.is(nearest))
    taken.push_back({nearest, number});
  return true;
}

bool Match::isRestOfOne(Tensor constant, Tensor other) {
  std::optional<Number> number = this->number(constant), beside = this->number(other);
  if (!number || !beside)
    return false;
  double rest = 1 - beside->value;
  if (!(std::abs(number->value - rest) <= 6e-8)) // half a unit in the last place of each below one
    return false;
  if (number->value != rest)
    taken.push_back({number->value, {rest}});
  return true;
}

bool Match::isStoredZero(Tensor constant, Tensor beside) {
  if (!constant.isDenseConstant() || !beside || !constant.isPerTensor() || !beside.isPerTensor() ||
      !constant.isQuantized() || !beside.isQuantized() || !constant.hasTypeOf(beside) ||
      !llvm::is_contained({TensorType::INT8, TensorType::UINT8}, constant.type()))
    return false;
  const Quantization &own = *constant.value()->quantization, &other = *beside.value()->quantization;
  if (own.scale.size() != 1 || other.scale.size() != 1 || own.zeroPoint.size() != 1 ||
      !(own.scale[0] <= 1024 * other.scale[0]))
    return false;
  auto zero = static_cast<double>(own.zeroPoint[0]);
  if (!everyElementOf(constant.value()->payload(), constant.type(), [zero](double n) { return n == zero; }))
    return false;
  read.push_back(constant.value());
  return true;
}

std::optional<float> Match::firstOf(Tensor constant) const {
  if (!constant.isDenseConstant() || !constant.isFloat() || constant.isQuantized() || !constant.elementCount() ||
      *constant.elementCount() == 0)
    return std::nullopt;
  float first = 0;
  constant.value()->payload().read(0, {reinterpret_cast<uint8_t *>(&first), sizeof(first)});
  return first;
}

bool Match::isStatic() const {
  return llvm::all_of(consumed, [](const Operator *op) {
    return llvm::all_of(op->operands(), [](const Use &use) { return !use.get() || use.get()->isStatic(); });
  });
}

std::optional<Number> Match::number(Tensor constant) {
  std::optional<float> first = firstOf(constant);
  if (!first || (constant.elementCount() != 1 && (!isStatic() || !isAll(constant, *first))))
    return std::nullopt;
  read.push_back(constant.value());
  Number number;
  number.value = *first;
  number.parent = constant;
  return number;
}

bool Match::everyOf(const Expr &expression, bool (*holds)(float, float, float)) {
  return Build(*this, SourceLine::current()).everyElement(expression, holds);
}

unsigned Match::movementsInARow(Tensor tensor) const {
  constexpr unsigned most = 10;
  unsigned length = 0;
  const Value *value = tensor.value();
  while (value && value->producer() && length < most &&
         llvm::is_contained({Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS, Op::TRANSPOSE}, value->producer()->code)) {
    ++length;
    value = value->producer()->operand(0);
  }
  return length;
}

bool Match::isReadLikewise(Tensor constant, Node op) const {
  constexpr unsigned mostUsers = 32;
  constexpr uint64_t mostBytes = 64 << 20;
  const Value *value = constant.value();
  unsigned users = 0;
  auto onlyUser = [](const Operator &of) -> const Operator * {
    const Value *result = of.results().size() == 1 ? of.result() : nullptr;
    const Operator *user = nullptr;
    if (result && result->hasOneUse())
      result->forEachUse([&](Use &use) { user = use.user(); });
    return user;
  };
  bool all = value && value->otherUses == 0 && Build::everyUse(*value, [&](const Use &use) {
               const Operator *next = onlyUser(*use.user());
               if (next && next->code == Op::RESHAPE && root().code() != Op::RESHAPE)
                 next = onlyUser(*next);
               return ++users <= mostUsers && use.user()->code == op.code() &&
                      op.operand(use.operandIndex()) == constant && next && next->code == root().code();
             });
  return all && constant.payloadSize() * users <= mostBytes;
}

unsigned Match::turnedBack(const Integers &permutation) const {
  llvm::SmallVector<int64_t, 8> wanted(permutation.known().size());
  for (auto [i, from] : llvm::enumerate(permutation.known()))
    wanted[from] = static_cast<int64_t>(i);
  return llvm::count_if(consumed.front()->results(), [&](const Value *result) {
    bool found = false;
    if (result)
      result->forEachUse([&](Use &use) {
        auto by = use.user()->code == Op::TRANSPOSE ? readIntegers(use.user()->operand(1)) : std::nullopt;
        found |= by && llvm::ArrayRef(*by) == llvm::ArrayRef(wanted);
      });
    return found;
  });
}

/// The operand whose elements an operator of a chain hands on: of a product or a sum, what is not constant.
static unsigned handedOn(const Operator &op) {
  bool arithmetic = op.code == Op::MUL || op.code == Op::ADD;
  return arithmetic && op.operand(0) && op.operand(0)->isConstant() ? 1 : 0;
}

llvm::SmallVector<int32_t, 6> Match::shapeOnce(Tensor constant) {
  llvm::SmallVector<int32_t, 6> once(constant.shape());
  if (!constant.isDenseConstant() || constant.payloadSize() == 0 || constant.payloadSize() > 1 << 20)
    return once;
  read.push_back(constant.value());
  llvm::ArrayRef<uint8_t> bytes = constant.value()->payload().bytes();
  size_t block = bytes.size(); // of all that a dimension goes over
  for (int32_t &size : once) {
    size_t share = block / size;
    bool same = true;
    for (size_t at = 0; at < bytes.size() && same; at += block)
      same = std::memcmp(&bytes[at], &bytes[at] + share, block - share) == 0;
    size = same ? 1 : size;
    block = share;
  }
  return once;
}

/// Follows a chain through an operator that repeats what it has.
bool Match::repeats(Chain &chain, Operator &op) {
  unsigned moved = handedOn(op);
  Tensor x(op.operand(moved)), result(op.result());
  auto along = [&](int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; };
  if (op.code == Op::TILE || op.code == Op::BROADCAST_TO || op.code == Op::MUL || op.code == Op::ADD) {
    bool arithmetic = op.code == Op::MUL || op.code == Op::ADD; // with ones, or with zeros
    Tensor beside(op.operand(1 - moved));
    std::optional<Integers> times = op.code == Op::TILE ? integers(beside) : std::nullopt;
    if (x.rank() != result.rank() || (op.code == Op::TILE && (!times || times->size() == 0)) ||
        (arithmetic && !(beside.isDenseConstant() && isEvery(beside, op.code == Op::MUL ? 1.0 : 0.0))))
      return false;
    bool one = times ? times->is(0, 1) : arithmetic && (beside.rank() < x.rank() || beside.shape()[0] == 1);
    if (!x.isStatic() && !one) // an open batch is not repeated
      return false;
    for (int axis = 0; axis < x.rank(); ++axis) {
      int32_t from = x.shape()[axis], to = result.shape()[axis];
      if (from < 1 || to % from || (op.code != Op::TILE && from != to && from != 1) || !chain.repeat(axis, to / from))
        return false;
    }
    return true;
  }
  if (op.code == Op::GATHER) {
    std::optional<Integers> list = integers(Tensor(op.operand(1)));
    int64_t axis = along(Node(&op).option("axis"), x.rank());
    if (!list || Tensor(op.operand(1)).rank() != 1 || Node(&op).option("batch_dims") != 0 || axis < 0 ||
        axis >= x.rank() || (axis == 0 && !x.isStatic()) || x.shape()[axis] < 1 || list->size() % x.shape()[axis] ||
        list->size() == 0)
      return false;
    auto times = static_cast<int64_t>(list->size()) / x.shape()[axis];
    for (size_t i = 0; i < list->size(); ++i)
      if (list->at(i) != static_cast<int64_t>(i) / times)
        return false;
    return chain.repeat(axis, times, true);
  }
  for (const Use &use : op.operands())
    if (use.get() != op.operand(0))
      return false;
  int64_t axis = along(Node(&op).option("axis"), result.rank());
  if (op.code == Op::PACK) {
    llvm::SmallVector<int32_t, 6> wider(x.shape());
    if (axis < 0 || axis > x.rank())
      return false;
    wider.insert(wider.begin() + axis, 1);
    if (!chain.reshape(wider))
      return false;
  }
  return (op.code == Op::PACK || op.code == Op::CONCATENATION) && (axis != 0 || x.isStatic()) &&
         chain.repeat(axis, op.numOperands());
}

std::optional<Moves> Match::moves(Tensor from, Tensor to) {
  // An open batch stays in front: what is done is done with each of it.
  bool open = !from.isStatic();
  llvm::SmallVector<Operator *, 8> chain;
  for (const Value *value = to.value(); value != from.value(); value = chain.back()->operand(handedOn(*chain.back()))) {
    Operator *op = value ? value->producer() : nullptr;
    if (!op || !llvm::is_contained(consumed, op) || value->isStatic() == open ||
        !Tensor(op->result()).isStaticButBatch())
      return std::nullopt;
    chain.push_back(op);
  }
  if (!from.isStaticButBatch())
    return std::nullopt;
  Chain moved(from.shape());
  for (Operator *op : llvm::reverse(chain)) {
    bool known = false;
    if (op->code == Op::TRANSPOSE) {
      std::optional<Integers> permutation = integers(Tensor(op->operand(1)));
      known = permutation && permutation->isPermutation(Tensor(op->operand(0)).shape().size()) &&
              !(open && permutation->at(0) != 0) && moved.transpose(permutation->numbers);
    } else if (llvm::is_contained({Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS}, op->code)) {
      known = moved.reshape(Tensor(op->result()).shape());
    } else {
      known = repeats(moved, *op);
    }
    if (!known)
      return std::nullopt;
  }
  return moved.moves();
}

/// The operand that is put where this lies, whole: within it, or all of it.
static std::optional<TakenPart> operandAt(const Operator &joined, int axis, std::optional<Positions> taken,
                                          bool whole) {
  for (unsigned i = 0; taken && i < joined.numOperands(); ++i) {
    std::optional<Positions> place = placeOf(joined, i);
    if (!place)
      return std::nullopt;
    if (place->holds(*taken) && taken->begin < taken->end && (!whole || taken->holds(*place)))
      return TakenPart{i, axis, static_cast<int32_t>(taken->begin - place->begin),
                       static_cast<int32_t>(taken->end - place->begin)};
  }
  return std::nullopt;
}

std::optional<TakenPart> Match::partOf(const Expr &name) {
  const Operator *joined = operations.lookup(name.key());
  std::optional<int> axis = joined ? joinedAlong(*joined) : std::nullopt;
  if (!axis)
    return std::nullopt;
  Operator &part = *consumed.front();
  for (unsigned i = 1; i < part.numOperands(); ++i) // what tells which part it is
    if (Value *value = part.operand(i); value && value->isConstant())
      read.push_back(value);
  return operandAt(*joined, *axis, takenFrom(part, *axis), false);
}

std::optional<TakenPart> Match::partOf(const Expr &name, unsigned result) {
  const Operator *joined = operations.lookup(name.key());
  std::optional<int> axis = joined ? joinedAlong(*joined) : std::nullopt;
  if (!axis)
    return std::nullopt;
  Operator &part = *consumed.front();
  if (Value *along = part.code == Op::SPLIT ? part.operand(0) : nullptr; along && along->isConstant())
    read.push_back(along);
  return operandAt(*joined, *axis, placeOfPart(part, result, *axis), true);
}

/// All positions of the first dimension, however many there are?
static bool takesWholeBatch(const Operator &part) {
  auto begins = readIntegers(part.operand(1)), sizes = readIntegers(part.operand(2));
  if (!begins || !sizes || begins->empty() || sizes->empty())
    return false;
  if (part.code == Op::SLICE)
    return begins->front() == 0 && sizes->front() == -1;
  const auto *options = part.options.as<circle::StridedSliceOptions>();
  auto strides = readIntegers(part.operand(3));
  return options && strides && !strides->empty() && strides->front() == 1 &&
         (options->begin_mask() & options->end_mask() & ~options->shrink_axis_mask() & 1) != 0;
}

/// The only dimension along which it does not take all of its first operand, and where; none: there are others.
static std::optional<std::pair<int, Positions>> shareOf(const Operator &part) {
  const Value *whole = part.operand(0), *result = part.result();
  auto isBatch = [](const Value &value) {
    llvm::ArrayRef<int32_t> stated = statedShape(value);
    return !stated.empty() && stated.front() == -1 && llvm::count(stated, -1) == 1;
  };
  if (!whole || !result || result->isStatic() != whole->isStatic() ||
      (!whole->isStatic() && !(isBatch(*whole) && isBatch(*result) && takesWholeBatch(part))))
    return std::nullopt;
  std::optional<std::pair<int, Positions>> share;
  for (int axis = whole->isStatic() ? 0 : 1; axis < whole->rank(); ++axis) {
    std::optional<Positions> taken = takenFrom(part, axis);
    if (!taken || (share && !(taken->begin == 0 && taken->end == whole->shape[axis])))
      return std::nullopt;
    if (taken->begin != 0 || taken->end != whole->shape[axis])
      share = {axis, *taken};
  }
  // At steps it would take fewer elements.
  bool dense = share && whole->shape[share->first] > 0 &&
               *result->elementCount() * whole->shape[share->first] ==
                   *whole->elementCount() * (share->second.end - share->second.begin);
  return dense ? share : std::nullopt;
}

std::optional<Shares> Match::shares() {
  constexpr unsigned most = 64;
  Operator &first = *consumed.front();
  auto own = shareOf(first);
  if (!own || own->second.begin != 0)
    return std::nullopt;
  const Value &whole = *first.operand(0);
  int64_t size = own->second.end, count = whole.shape[own->first] / size;
  if (whole.shape[own->first] % size || count < 2 || count > most)
    return std::nullopt;
  std::vector<Operator *> takers(count);
  bool once = true;
  whole.forEachUse([&](Use &use) {
    Operator *user = use.user();
    auto share = user->code == first.code && user->operand(0) == &whole ? shareOf(*user) : std::nullopt;
    if (share && share->first == own->first && share->second.end - share->second.begin == size &&
        share->second.begin % size == 0 && user->result()->shape == first.result()->shape)
      once &= !std::exchange(takers[share->second.begin / size], user);
  });
  if (!once || llvm::is_contained(takers, nullptr) || takers.front() != &first)
    return std::nullopt;
  Shares all{{}, own->first, first.result()->rank() != whole.rank()};
  for (Operator *taker : takers) {
    if (taker != &first)
      consumed.push_back(taker);
    for (unsigned i = 1; i < taker->numOperands(); ++i)
      if (Value *value = taker->operand(i); value && value->isConstant())
        read.push_back(value);
    all.results.push_back(Tensor(taker->result()));
  }
  return all;
}

bool Match::wantsChannelsLast() const {
  rewriter.asksForLayout = true;
  return rewriter.layout && rewriter.layout->contains(*consumed.front());
}

bool Match::keepsOrder() {
  Node at = root();
  if (at.code() == Op::TRANSPOSE) {
    std::optional<Integers> permutation = integers(at.operand(1));
    return permutation && permutation->keepsOrderOf(at.operand(0u).statedShape());
  }
  if (at.code() == Op::STRIDED_SLICE) {
    std::optional<Integers> strides = integers(at.operand(3));
    return strides && strides->allPositive();
  }
  return at.code() != Op::PACK || at.operandCount() == 1;
}

unsigned Match::positionOf(const Expr &name) const {
  Operator &at = *consumed.front();
  for (unsigned i = 0; i < at.numOperands(); ++i)
    if (at.operand(i) == bound.lookup(name.key()))
      return i;
  return ~0u;
}

bool Match::writesTflite() const { return rewriter.format == Format::Tflite; }

/// Positions along a dimension that is known, or such put together or moved.
static Range positionsIn(const Value *value, unsigned steps = 4) {
  const Operator *op = value ? value->producer() : nullptr;
  auto size = [](const Value *of) { return of && of->isStatic() ? of->elementCount() : std::nullopt; };
  if (!op || steps == 0)
    return {};
  switch (op->code) {
  case Op::ARG_MAX:
  case Op::ARG_MIN:
    if (auto all = size(op->operand(0)), rows = size(value); all && rows && *rows > 0)
      return {0, static_cast<double>(*all / *rows) - 1};
    return {};
  case Op::RESHAPE:
  case Op::TRANSPOSE:
    return positionsIn(op->operand(0), steps - 1);
  case Op::PACK: {
    Range all = op->numOperands() <= 256 ? positionsIn(op->operand(0), steps - 1) : Range();
    for (unsigned i = 1; i < op->numOperands() && all.low >= 0; ++i) {
      Range one = positionsIn(op->operand(i), steps - 1);
      all = {std::min(all.low, one.low), std::max(all.high, one.high)};
    }
    return all;
  }
  default:
    return {};
  }
}

Range Match::range(Tensor tensor) const {
  const Operator *op = tensor ? tensor.value()->producer() : nullptr;
  if (!op)
    return {};
  if (tensor.type() == TensorType::INT32 || tensor.type() == TensorType::INT64)
    return positionsIn(tensor.value());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto clamped = [](Activation activation) -> Range {
    switch (activation) {
    case Activation::RELU: // leaves a negative zero as it is
      return {-0.0, infinity};
    case Activation::RELU6:
      return {-0.0, 6};
    case Activation::RELU_N1_TO_1:
      return {-1, 1};
    default:
      return {};
    }
  };
  switch (op->code) {
  case Op::RELU:
    return clamped(Activation::RELU);
  case Op::RELU6:
    return clamped(Activation::RELU6);
  case Op::RELU_N1_TO_1:
    return clamped(Activation::RELU_N1_TO_1);
  case Op::LOGISTIC:
  case Op::SOFTMAX:
    return {0, 1};
  default:
    return clamped(activationOf(*op));
  }
}

Stored Match::operandStored(unsigned position) const {
  const StoragePlan::Decision *decision = rewriter.plan ? rewriter.plan->of(*consumed.front()) : nullptr;
  return decision && position < decision->operands.size() ? Stored(decision->operands[position]) : Stored();
}

Stored Match::resultStored(unsigned position) const {
  const StoragePlan::Decision *decision = rewriter.plan ? rewriter.plan->of(*consumed.front()) : nullptr;
  return decision && position < decision->results.size() ? Stored(decision->results[position]) : Stored();
}

llvm::SmallVector<Stored, 0> Match::intermediatesStored() const {
  const StoragePlan::Decision *decision = rewriter.plan ? rewriter.plan->of(*consumed.front()) : nullptr;
  llvm::SmallVector<Stored, 0> all;
  for (const Storage *storage : decision ? llvm::ArrayRef(decision->intermediates) : std::nullopt)
    all.push_back(Stored(storage));
  return all;
}

StoragePlan::Constants Match::constantsStored() const {
  const StoragePlan::Decision *decision = rewriter.plan ? rewriter.plan->of(*consumed.front()) : nullptr;
  return decision ? decision->constants : StoragePlan::Constants::Stored;
}

unsigned Match::operandsPlanned() const {
  const StoragePlan::Decision *decision = rewriter.plan ? rewriter.plan->of(*consumed.front()) : nullptr;
  auto planned = decision ? static_cast<unsigned>(decision->operands.size()) : 0u;
  return std::max(planned, root().operandCount());
}

std::optional<Expr> Match::corrected(unsigned position) const {
  const StoragePlan::Decision *decision = rewriter.plan ? rewriter.plan->of(*consumed.front()) : nullptr;
  for (const auto &[operand, summand] : decision ? llvm::ArrayRef(decision->summands) : std::nullopt)
    if (operand == position) {
      Expr::Node node{Expr::Kind::Learned};
      node.learned = summand;
      Tensor constant = root().operand(position);
      if (!constant) {
        node.sizes = {static_cast<int32_t>(summand.numbers.size() / sizeof(float))};
        return Expr(std::move(node));
      }
      llvm::ArrayRef<int32_t> shape = constant.shape();
      node.sizes.assign(shape.begin(), shape.end());
      return Expr(constant) + Expr(std::move(node));
    }
  return std::nullopt;
}

const StoragePlan::Reach *Match::reachPlanned() const {
  if (!rewriter.plan)
    return nullptr;
  auto known = rewriter.plan->reaches.find(consumed.front());
  return known == rewriter.plan->reaches.end() ? nullptr : &known->second;
}

Expr Match::learnedList(const Summand &numbers) {
  Expr::Node node{Expr::Kind::Learned};
  node.learned = numbers;
  node.sizes = {static_cast<int32_t>(numbers.numbers.size() / sizeof(float))};
  return Expr(std::move(node));
}

std::optional<Expr> Match::reach() const {
  const StoragePlan::Reach *known = reachPlanned();
  return known ? std::optional(learnedList(known->goes)) : std::nullopt;
}

std::optional<Expr> Match::shift() const {
  if (!rewriter.plan)
    return std::nullopt;
  auto known = rewriter.plan->shifts.find(consumed.front());
  return known == rewriter.plan->shifts.end() ? std::nullopt : std::optional(learnedList(known->second));
}

std::optional<Expr> Match::weightsOfAllReaders() {
  const StoragePlan::Reach *known = reachPlanned();
  if (!known || !known->allReaders || llvm::any_of(known->allReaders->parents, [](Value *v) { return v->erased(); }))
    return std::nullopt;
  lent.append(known->allReaders->parents.begin(), known->allReaders->parents.end());
  return learnedList(*known->allReaders);
}

std::optional<Codes> Match::codesOf(Tensor matrix) {
  const BinaryCodes::Bundle *bundle = matrix.isDenseConstant() ? rewriter.codes.of(*matrix.value()) : nullptr;
  if (!bundle)
    return std::nullopt;
  read.push_back(matrix.value());
  lent.append({bundle->scales, bundle->binary, bundle->sizes, bundle->bits});
  return Codes{Tensor(bundle->scales), Tensor(bundle->binary), Tensor(bundle->sizes), Tensor(bundle->bits),
               bundle->rowsFirst};
}

double Match::migration() const { return rewriter.plan ? rewriter.plan->migration : 0; }

RewriteResult Match::replace(const Expr &value, SourceLine where) { return replace({{root().result(), value}}, where); }

RewriteResult Match::replace(std::vector<std::pair<Tensor, Expr>> values, SourceLine where) {
  return Build(*this, where).replace(values);
}

RewriteResult Match::answer(RewriteResult said) const {
  if (!said.isRefused() && !Turn::mistaken().empty())
    return RewriteResult::refused(Turn::mistaken());
  if (said.isRefused() || said.isApplied() == applied)
    return said;
  return RewriteResult::refused(applied ? "the rule declines, and has replaced the match"
                                        : "the rule says that it applied, and has replaced nothing");
}

RewriteResult Match::foldRoot(SourceLine where) { return Build(*this, where).foldRoot(); }

RewriteResult Match::inlineRoot(unsigned callee, SourceLine where) {
  if (applied)
    return RewriteResult::refused("a match is replaced once");
  if (consumed.size() != 1)
    return RewriteResult::refused("a call is inlined by itself");
  RewriteResult result = rewriter.inlineCall(*consumed.front(), callee, where);
  applied = result.isApplied();
  return result;
}

} // namespace origo::rewrite
