#include "eval/exact/Machine.h"

#include "eval/RealNumbers.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <cstring>

namespace origo::eval::exact {

llvm::Error Machine::checkTime(const Operator &op) const {
  if (limits.deadline && std::chrono::steady_clock::now() > *limits.deadline)
    return evalError(ErrorCode::Timeout, EvalPhase::Run, op, -1, "the proof takes longer than allowed");
  return llvm::Error::success();
}

llvm::Expected<Held> Machine::make(const Value &value, TensorType type, llvm::ArrayRef<int32_t> shape) const {
  Held held;
  held.tensor.type = type;
  held.tensor.shape.assign(shape.begin(), shape.end());
  held.tensor.quantization = value.quantization;
  held.tensor.value = &value;
  auto count = static_cast<uint64_t>(product(shape));
  std::optional<uint64_t> bytes = held.isUnknown() ? 0 : payloadBytes(type, count);
  if (!bytes)
    return makeError("a tensor whose size does not follow from its shape has no exact numbers");
  if (held.isReal())
    bytes = static_cast<uint64_t>(times(static_cast<int64_t>(count), sizeof(Number)));
  if (*bytes > limits.memory - std::min(limits.memory, *live))
    return makeError("exact numbers would take more than " + llvm::Twine(limits.memory) + " bytes");
  *live += *bytes;
  held.block = std::shared_ptr<Held::Block>(new Held::Block, [live = live, bytes = *bytes](Held::Block *block) {
    *live -= bytes;
    delete block;
  });
  if (held.isReal()) {
    held.block->numbers.resize(count);
    held.tensor.storage = {reinterpret_cast<uint8_t *>(held.block->numbers.data()), count * sizeof(Number)};
    held.tensor.known = false; // nobody is to read these as the type says
  } else {
    held.block->bytes.resize(*bytes);
    held.tensor.storage = held.block->bytes;
  }
  return held;
}

llvm::Error Machine::settle(Held &held) const {
  held.doubtful = false;
  if (!held || !held.isReal())
    return llvm::Error::success();
  double largest = 0;
  for (const Number &number : held.numbers())
    if (std::isfinite(number.value))
      largest = std::max(largest, std::fabs(number.value));
  const double most = 0x1p-40 * largest;
  auto isWide = [&](const Number &number) { return !(number.error <= most) && std::isfinite(number.value); };
  if (llvm::none_of(held.numbers(), isWide))
    return llvm::Error::success();
  auto copy = make(*held.tensor.value, held.tensor.type, held.tensor.shape);
  if (!copy)
    return copy.takeError();
  for (auto [to, from] : llvm::zip(copy->numbers(), held.numbers())) {
    to = from;
    if (isWide(from))
      to.error = most;
  }
  held.block = copy->block;
  held.tensor.storage = copy->tensor.storage;
  return llvm::Error::success();
}

llvm::Expected<Held> Machine::copyOf(const Held &held) const {
  auto copy = make(*held.tensor.value, held.tensor.type, held.tensor.shape);
  if (!copy)
    return copy;
  Held made = held;
  *copy->block = *held.block;
  made.block = copy->block;
  made.tensor.storage = held.isReal()
                            ? llvm::MutableArrayRef<uint8_t>(reinterpret_cast<uint8_t *>(made.block->numbers.data()),
                                                             made.block->numbers.size() * sizeof(Number))
                            : llvm::MutableArrayRef<uint8_t>(made.block->bytes);
  return made;
}

llvm::Expected<Held> Machine::constant(const Value &value) const {
  if (const Recipes::Recipe *recipe = recipes && isReal(value.type) ? recipes->find(value.payload()) : nullptr)
    return ofRecipe(*recipe, value);
  auto held = make(value, value.type, value.shape);
  if (!held || held->isUnknown())
    return held;
  auto bytes = ConstantBytes::of(value, limits.memory);
  if (!bytes)
    return bytes.takeError();
  if (!held->isReal()) {
    held->block->bytes.assign(bytes->bytes.begin(), bytes->bytes.end());
    held->tensor.storage = held->block->bytes;
    return held;
  }
  Tensor stored = held->tensor;
  stored.storage = bytes->bytes;
  if (llvm::Error error = readNumbers(stored, math, held->numbers()))
    return error;
  for (const Meaning &meaning : meanings)
    for (Number &number : held->numbers())
      if (number.value == meaning.number)
        number = math.divide(math.of(meaning.numerator), math.of(meaning.denominator));
  return held;
}

llvm::Expected<Held> Machine::ofRecipe(const Recipes::Recipe &recipe, const Value &value) const {
  constexpr unsigned deepest = 200;
  constexpr size_t smallest = 4096, most = 4096; // numbers of what is kept, and how many such
  auto known = small.find(&recipe);
  if (known == small.end()) {
    if (depth >= deepest)
      return makeError("a constant is computed in more than " + llvm::Twine(deepest) + " steps");
    const Operator &op = recipe.op->get();
    llvm::SmallVector<Held> operands;
    ++depth;
    auto below = llvm::make_scope_exit([&] { --depth; });
    for (unsigned i = 0; i < op.numOperands(); ++i) {
      operands.emplace_back();
      if (!op.operand(i))
        continue;
      auto operand = constant(*op.operand(i));
      if (!operand)
        return operand.takeError();
      operands.back() = std::move(*operand);
    }
    auto results = compute(op, operands);
    if (!results)
      return results.takeError();
    Held &made = (*results)[recipe.result];
    if (made.numbers().size() > smallest || small.size() >= most)
      small.clear();
    known = small.emplace(&recipe, std::move(made)).first;
  }
  Held held = known->second; // with the shape and the place of who asks
  if (product(value.shape) != static_cast<int64_t>(held.numbers().size()))
    return makeError("a constant has another number of elements than what it was computed as");
  held.tensor.shape.assign(value.shape.begin(), value.shape.end());
  held.tensor.type = value.type;
  held.tensor.value = &value;
  return held;
}

/// The operand of these bytes.
static TensorRef refTo(const Held &held, llvm::ArrayRef<uint8_t> bytes) {
  return TensorRef(held.tensor.type, held.tensor.shape, bytes);
}

/// Adds what is behind an operand to what is behind a result.
static void inherit(llvm::MutableArrayRef<Held> results, llvm::ArrayRef<Held> operands) {
  for (Held &result : results)
    for (const Held &operand : operands) {
      if (!result || !operand)
        continue;
      result.doubtful |= operand.doubtful;
      result.usesFunctions |= operand.usesFunctions;
      if (result.opaque.empty())
        result.opaque = operand.opaque;
      result.isSymbolic &= operand.isSymbolic;
    }
}

/// What results are made of where it has no value: in no order, and each once.
static void inheritSymbols(const Arithmetic &math, llvm::MutableArrayRef<Held> results, llvm::ArrayRef<Held> operands) {
  llvm::SmallVector<uint64_t> symbols;
  for (const Held &operand : operands)
    if (operand && operand.symbol)
      symbols.push_back(operand.symbol);
  llvm::sort(symbols);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  if (symbols.empty())
    return;
  uint64_t all = symbols.front();
  for (uint64_t one : llvm::drop_begin(symbols))
    all = math.mix(all, one);
  for (Held &result : results)
    if (result && !result.symbol)
      result.symbol = all;
}

/// With the bytes that the reference engine has computed.
static Held asComputed(Held held, OwnedTensor &from) {
  held.block->bytes = std::move(from.bytes);
  held.tensor.storage = held.block->bytes;
  return held;
}

/// Integers, truth and quantised numbers: what the reference engine computes of them is exact.
Machine::Results Machine::byReference(const Operator &op, llvm::ArrayRef<Held> operands) const {
  std::vector<TensorRef> refs(operands.size());
  llvm::SmallVector<const TensorRef *> given(operands.size(), nullptr);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      refs[i] = refTo(operands[i], operands[i].block->bytes);
      given[i] = &refs[i];
    }
  auto computed = runOperator(op, given, limits.memory, [&](unsigned i, llvm::ArrayRef<uint8_t> bytes) {
    llvm::copy(bytes, operands[i].block->bytes.begin());
  });
  if (!computed)
    return computed.takeError();
  llvm::SmallVector<Held, 2> results(op.results().size());
  for (unsigned i = 0; i < results.size(); ++i) {
    if (!op.result(i))
      continue;
    auto held = make(*op.result(i), (*computed)[i].type, (*computed)[i].shape);
    if (!held)
      return held.takeError();
    results[i] = asComputed(std::move(*held), (*computed)[i]);
  }
  return results;
}

/// Runs the reference kernel on numbered elements: what comes out is the number of the element that goes there, and 0
/// for a zero that the operator puts there itself.
Machine::Results Machine::moved(const Operator &op, llvm::ArrayRef<Held> operands) const {
  std::vector<TensorRef> refs(operands.size());
  llvm::SmallVector<const TensorRef *> given(operands.size(), nullptr);
  std::vector<std::vector<uint8_t>> numbered(operands.size());
  std::vector<const Number *> all{nullptr};
  std::vector<std::pair<uint64_t, size_t>> firsts; // the number of an operand's first element, and the operand
  uint64_t next = 1;
  size_t size = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Held &held = operands[i];
    if (!held)
      continue;
    if (!held.isReal()) {
      refs[i] = refTo(held, held.block->bytes);
    } else {
      size = *bitsPerElement(held.tensor.type) / 8;
      size_t count = held.numbers().size();
      firsts.emplace_back(next, i);
      numbered[i].resize(count * size);
      for (size_t k = 0; k < count; ++k, ++next)
        std::memcpy(numbered[i].data() + k * size, &next, size); // little-endian
      refs[i] = refTo(held, numbered[i]);
    }
    given[i] = &refs[i];
  }
  // Numbers that would be infinite or no numbers as floats are not made of these.
  if ((size == 2 && next > 0x7c00) || next > 0x7f000000)
    return opaque(op, operands, op.opName() + " of so many elements");
  auto computed = runOperator(op, given, limits.memory);
  if (!computed)
    return computed.takeError();
  llvm::SmallVector<Held, 2> results(op.results().size());
  for (unsigned i = 0; i < results.size(); ++i) {
    if (!op.result(i))
      continue;
    OwnedTensor &from = (*computed)[i];
    auto held = make(*op.result(i), from.type, from.shape);
    if (!held)
      return held.takeError();
    if (!held->isReal()) {
      results[i] = asComputed(std::move(*held), from);
      continue;
    }
    size_t width = *bitsPerElement(from.type) / 8;
    for (auto [k, number] : llvm::enumerate(held->numbers())) {
      uint64_t place = 0;
      std::memcpy(&place, from.bytes.data() + k * width, width);
      if (place == 0)
        continue;
      auto behind = llvm::upper_bound(firsts, std::pair<uint64_t, size_t>(place, ~size_t(0)));
      if (place >= next || behind == firsts.begin())
        return makeError("an operator that moves elements has made one: " + op.opName());
      auto [first, operand] = behind[-1];
      number = operands[operand].numbers()[place - first];
    }
    results[i] = std::move(*held);
  }
  return results;
}

Machine::Results Machine::exactly(const Operator &op, const Kernel *kernel, const ExactKernel &exact,
                                  llvm::ArrayRef<Held> operands) const {
  Context context(op, math);
  llvm::SmallVector<Tensor, 6> inputs;
  llvm::SmallVector<Tensor, 2> outputs(op.results().size());
  for (const Held &operand : operands)
    inputs.push_back(operand.tensor);
  for (unsigned i = 0; i < operands.size(); ++i)
    context.inputs.push_back(operands[i] ? &inputs[i] : nullptr);
  for (unsigned i = 0; i < outputs.size(); ++i) {
    const Value *value = op.result(i);
    context.outputs.push_back(value ? &outputs[i] : nullptr);
    if (!value)
      continue;
    outputs[i].type = value->type;
    outputs[i].quantization = value->quantization;
    outputs[i].value = value;
  }
  context.setDeadline(limits.deadline);
  const bool makesRoom = exact.makesRoom || (kernel && kernel->shapes == ShapesFrom::Kernel);
  if (!kernel) // of no operator that the reference engine has
    outputs[0].shape = inputs[0].shape;
  else if (!makesRoom)
    if (llvm::Error error = kernel->shape(context))
      return error;
  llvm::SmallVector<Held, 2> results(outputs.size());
  context.room = [&](unsigned i, llvm::ArrayRef<int32_t> shape) -> llvm::Expected<llvm::MutableArrayRef<uint8_t>> {
    auto held = make(*op.result(i), outputs[i].type, shape);
    if (!held)
      return held.takeError();
    results[i] = std::move(*held);
    return results[i].tensor.storage;
  };
  for (unsigned i = 0; i < outputs.size() && !makesRoom; ++i) {
    if (!context.wants(i))
      continue;
    auto room = context.room(i, outputs[i].shape);
    if (!room)
      return room.takeError();
    outputs[i].storage = *room;
  }
  uint64_t symbols = math.symbols;
  if (llvm::Error error = exact.compute(context))
    return error;
  if (llvm::Error error = context.checkTime())
    return error;
  for (Held &result : results) {
    result.usesFunctions = math.symbols != symbols;
    result.doubtful = context.doubtful;
  }
  return results;
}

/// Others than on variable tensors among the operands.
static bool hasUnknownEffects(const Operator &op) {
  constexpr auto state = static_cast<uint8_t>(Effect::ReadsState) | static_cast<uint8_t>(Effect::WritesState);
  auto isVariable = [](const OperandInfo &operand) { return operand.variable; };
  bool hasVariable = (op.info() && llvm::any_of(op.info()->operands, isVariable)) ||
                     llvm::any_of(op.operands(), [](const Use &use) { return use.get() && use.get()->isVariable; });
  return (op.effects() & ~state) != 0 || (op.effects() != 0 && !hasVariable);
}

static bool hasReal(const Operator &op, llvm::ArrayRef<Held> operands) {
  return llvm::any_of(operands, [](const Held &held) { return held && held.isReal(); }) ||
         llvm::any_of(op.results(), [](const Value *value) { return value && isReal(value->type); });
}

std::optional<std::string> Machine::withoutKernel(const Operator &op, llvm::ArrayRef<Held> operands) const {
  const ExactKernel *exact = findExactKernel(op);
  const bool real = hasReal(op, operands), isCustom = op.code == BuiltinOperator::CUSTOM;
  if (!isCustom && hasUnknownEffects(op))
    return op.opName() + " with effects";
  bool unknown = llvm::any_of(operands, [](const Held &held) { return held && held.isUnknown(); }) ||
                 llvm::any_of(op.results(), [](const Value *value) {
                   return value && (value->type == TensorType::STRING || value->type == TensorType::RESOURCE ||
                                    value->type == TensorType::VARIANT);
                 });
  bool isNamed = exact && real && isCustom; // the reference engine has no kernel of it
  bool keepsState = op.effects() != 0 && (isCustom || (real && !exact));
  if ((!findKernel(op) && !isNamed) || unknown || keepsState)
    return op.opName();
  // Whose bytes are those that a function of which nothing is known has got in floats.
  auto isOpaquePair = [](const Held &held) {
    return held && !held.opaque.empty() &&
           (held.tensor.type == TensorType::COMPLEX64 || held.tensor.type == TensorType::COMPLEX128);
  };
  if (real && llvm::any_of(operands, isOpaquePair))
    return op.opName();
  if (!real || onlyMoves(op))
    return std::nullopt;
  // Integer weights beside floats: kernels round the floats to integers, too.
  auto isNarrow = [](const Held &held) {
    return held && !held.isReal() && held.tensor.type != TensorType::BOOL &&
           bitsPerElement(held.tensor.type).value_or(64) < 32;
  };
  bool bridges = op.code == BuiltinOperator::CAST || op.code == BuiltinOperator::DEQUANTIZE ||
                 op.code == BuiltinOperator::QUANTIZE || op.code == BuiltinOperator::EMBEDDING_LOOKUP;
  if (!exact)
    return op.opName();
  if (!bridges && llvm::any_of(operands, isNarrow))
    return op.opName() + " of integer weights";
  return std::nullopt;
}

Machine::Results Machine::compute(const Operator &op, llvm::ArrayRef<Held> operands) const {
  if (llvm::Error error = checkTime(op))
    return error;
  // Of a model that is looked at without its rounding: what stored numbers otherwise leaves them as they are.
  // DENSIFY changes nothing in either: sparse constants are read as what they are without their sparsity.
  bool changesStorage = op.code == BuiltinOperator::DEQUANTIZE || op.code == BuiltinOperator::QUANTIZE ||
                        op.code == BuiltinOperator::DENSIFY;
  if (changesStorage && op.result(0) && isReal(op.result(0)->type) && !operands.empty() && operands[0] &&
      operands[0].isReal()) {
    llvm::SmallVector<Held, 2> same{operands[0]};
    same[0].tensor.type = op.result(0)->type;
    same[0].tensor.quantization = nullptr;
    return same;
  }
  auto results = [&]() -> Results {
    if (auto name = withoutKernel(op, operands))
      return opaque(op, operands, *name);
    if (!hasReal(op, operands))
      return byReference(op, operands);
    if (onlyMoves(op))
      return moved(op, operands);
    return exactly(op, findKernel(op), *findExactKernel(op), operands);
  }();
  if (!results)
    return results;
  for (Held &result : *results)
    result.isSymbolic = op.code == BuiltinOperator::CUSTOM || !hasUnknownEffects(op);
  inherit(*results, operands);
  inheritSymbols(math, *results, operands);
  return results;
}

} // namespace origo::eval::exact
