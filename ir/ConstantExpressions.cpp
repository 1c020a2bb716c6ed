#include "ir/ConstantExpressions.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace origo {

namespace {

bool onlyMoves(llvm::ArrayRef<Step> steps) {
  return llvm::all_of(steps, [](const Step &step) {
    return step.kind == Step::Permute || step.kind == Step::Reshape || step.kind == Step::Slice;
  });
}

/// Is it a number of a rewrite, or a list of axes or sizes, perhaps by what it has read in constants of the source?
bool isStated(const Value &constant) {
  if (!constant.relations.empty())
    return false;
  uint64_t count = 1;
  for (int32_t size : constant.shape)
    count *= static_cast<uint64_t>(size);
  bool isInteger = constant.type == TensorType::INT32 || constant.type == TensorType::INT64;
  return constant.sourceTensors.empty() || count == 1 || (isInteger && count <= ConstantExpressions::mostIntegers);
}

/// Does it only store floats as what holds less?
bool isRounding(const Operator &op) {
  const Value *from = op.numOperands() ? op.operand(0) : nullptr, *to = op.results().empty() ? nullptr : op.result(0);
  if (!from || !to || from->type != TensorType::FLOAT32)
    return false;
  return op.code == BuiltinOperator::QUANTIZE || (op.code == BuiltinOperator::CAST && to->type == TensorType::FLOAT16);
}

/// What the bytes of a constant mean: equal ones are other numbers with other scales.
uint64_t storageOf(const Value &value) {
  llvm::hash_code hash = llvm::hash_value(static_cast<int>(value.type));
  if (const Quantization *how = value.quantization) {
    for (float scale : how->scale)
      hash = llvm::hash_combine(hash, llvm::bit_cast<uint32_t>(scale));
    for (int64_t zeroPoint : how->zeroPoint)
      hash = llvm::hash_combine(hash, zeroPoint);
    if (how->scale.size() > 1)
      hash = llvm::hash_combine(hash, how->dimension);
  }
  return hash;
}

} // namespace

llvm::ArrayRef<ConstantExpressions::Place> ConstantExpressions::find(const Payload &payload, Rounded rounded) const {
  auto known = byBytes.find(keyOf(payload, rounded));
  if (known == byBytes.end() || known->second.front().bytes.expired())
    return {};
  return known->second;
}

void ConstantExpressions::share(const Payload &from, const Payload &to) {
  auto [owner, start, size, none] = keyOf(from, std::nullopt);
  std::vector<std::pair<Rounded, Operand>> ways;
  for (auto at = byBytes.lower_bound({owner, start, size, none}); at != byBytes.end(); ++at) {
    if (std::tuple(std::get<0>(at->first), std::get<1>(at->first), std::get<2>(at->first)) !=
        std::tuple(owner, start, size))
      break;
    for (const Place &way : at->second)
      if (!way.bytes.expired())
        ways.emplace_back(std::get<3>(at->first), way.operand);
  }
  for (auto &[rounded, operand] : ways)
    place(to, std::move(operand), rounded);
}

ConstantExpressions::Operand ConstantExpressions::of(const Value &constant) const {
  const Relation *moved = nullptr;
  for (const Relation &relation : constant.relations) {
    if (relation.steps == 0)
      return {Operand::Source, relation.tensor};
    if (!moved && onlyMoves(steps.get(relation.steps)))
      moved = &relation;
  }
  // A map says by relations what only moves.
  if (moved) {
    llvm::ArrayRef<Step> way = steps.get(moved->steps);
    return {Operand::Source, moved->tensor, {way.begin(), way.end()}};
  }
  if (llvm::ArrayRef<Place> known = find(constant.payload(), std::nullopt); !known.empty())
    return known.front().operand;
  return {isStated(constant) ? Operand::Given : Operand::Unknown};
}

llvm::SmallVector<ConstantExpressions::Operand, 1> ConstantExpressions::beforeRounding(const Value &constant) const {
  Operand plain = of(constant);
  if (plain.kind == Operand::Source)
    return {plain};
  llvm::SmallVector<Operand, 1> ways;
  for (Rounded rounded : {Rounded(), Rounded(storageOf(constant))})
    for (const Place &known : find(constant.payload(), rounded))
      ways.push_back(known.operand);
  if (!ways.empty())
    return ways;
  for (const Relation &relation : constant.relations)
    if (llvm::ArrayRef<Step> way = steps.get(relation.steps);
        !way.empty() && (way.back().kind == Step::Quantize || way.back().kind == Step::Cast) &&
        onlyMoves(way.drop_back()))
      return {{Operand::Source, relation.tensor, {way.begin(), std::prev(way.end())}}};
  return {plain};
}

void ConstantExpressions::add(const Operator &op, llvm::ArrayRef<Payload> results) {
  if (!op.customCode().empty())
    return;
  // What is in numbers other than what it stands for is what a relation says.
  auto isPlain = [](const Value *value) { return !value || !value->quantization || !value->quantization->quantized(); };
  const bool rounds = isRounding(op);
  if (rounds && !results.empty() && op.operand(0)) {
    if (Operand operand = of(*op.operand(0)); operand.kind == Operand::Source || operand.kind == Operand::Made)
      place(results[0], operand, storageOf(*op.result(0)));
    return;
  }
  if (!llvm::all_of(op.results(), isPlain))
    return;
  llvm::SmallVector<Operand, 2> operands;
  llvm::SmallVector<DetachedTensor> tensors, made;
  for (const Use &use : op.operands()) {
    const Value *value = use.get();
    Operand &operand = operands.emplace_back(value ? of(*value) : Operand());
    if (operand.kind == Operand::Unknown || (operand.kind != Operand::Source && !isPlain(value)))
      return;
    DetachedTensor &tensor = tensors.emplace_back();
    tensor.absent = !value;
    if (!value)
      continue;
    tensor.type = value->type;
    tensor.shape.assign(value->shape.begin(), value->shape.end());
    if (operand.kind == Operand::Given)
      tensor.payload = value->payload();
  }
  for (const Value *value : op.results()) {
    DetachedTensor &tensor = made.emplace_back();
    tensor.absent = !value;
    if (value) {
      tensor.type = value->type;
      tensor.shape.assign(value->shape.begin(), value->shape.end());
    }
  }
  for (unsigned i = 0; i < results.size() && i < made.size(); ++i) {
    if (made[i].absent || results[i].empty())
      continue;
    auto copy = std::make_unique<DetachedOperator>(op.code, tensors, made, op.options, op.options2());
    place(results[i], note({std::move(copy), i, operands}), std::nullopt);
  }
}

void ConstantExpressions::add(const Value &constant, llvm::StringRef text) {
  if (constant.payload().empty())
    return;
  bool isRounded =
      (constant.quantization && constant.quantization->quantized()) || constant.type == TensorType::FLOAT16;
  const Rounded rounded = isRounded ? Rounded(storageOf(constant)) : std::nullopt;
  auto isSame = [&](const Place &way) {
    return way.operand.kind == Operand::Made && noted[way.operand.index].text == text;
  };
  if (llvm::none_of(find(constant.payload(), rounded), isSame))
    place(constant.payload(), note({.text = text}), rounded);
}

void ConstantExpressions::place(const Payload &payload, Operand operand, Rounded rounded) {
  llvm::SmallVector<Place, 1> &ways = byBytes[keyOf(payload, rounded)];
  if (!ways.empty() && ways.front().bytes.expired())
    ways.clear(); // of bytes that were here before
  if (ways.size() < mostWays && llvm::none_of(ways, [&](const Place &known) { return known.operand == operand; }))
    ways.push_back({payload.lifetime(), std::move(operand)});
}

ConstantExpressions::Operand ConstantExpressions::note(Noted what) {
  noted.push_back(std::move(what));
  return {Operand::Made, static_cast<uint32_t>(noted.size() - 1)};
}

void ConstantExpressions::assume(const Assumption &what) {
  auto key = [](const Assumption &one) { return std::tuple(one.number, one.numerator, one.denominator, one.pass); };
  auto place = llvm::lower_bound(assumed, what, [&](auto &a, auto &b) { return key(a) < key(b); });
  if (place == assumed.end() || key(*place) != key(what))
    assumed.insert(place, what);
}

} // namespace origo
