#include "eval/exact/Machine.h"

#include "eval/RealNumbers.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

/// Operators without an exact kernel, as functions of which nothing is known: equal for equal operands.
namespace origo::eval::exact {

namespace {

class Mixer {
public:
  explicit Mixer(const Arithmetic &math) : math(math) {}
  void add(uint64_t more) { seed = math.mix(seed, more); }
  void add(llvm::ArrayRef<uint8_t> bytes) { add(llvm::xxh3_64bits(bytes)); }
  void add(llvm::StringRef text) { add(llvm::ArrayRef<uint8_t>(text.bytes_begin(), text.bytes_end())); }
  void add(const Options &options, llvm::StringRef unionName) {
    add(options.member);
    const wire::EnumValue *row =
        wire::Schema::circle().enumeration(unionName)->find(static_cast<int64_t>(options.member));
    if (!row || !row->table)
      return;
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(flatbuffers::Offset<flatbuffers::Table>(wire::copyTable(builder, *row->table, options.table)));
    add(llvm::ArrayRef<uint8_t>(builder.GetBufferPointer(), builder.GetSize()));
  }
  void add(const Quantization *quantization) {
    if (!quantization || !quantization->quantized())
      return;
    for (float scale : quantization->scale)
      add(math.of(static_cast<double>(scale)).image);
    for (int64_t zero : quantization->zeroPoint)
      add(static_cast<uint64_t>(zero));
    add(static_cast<uint64_t>(quantization->dimension));
  }
  void add(const Held &held) {
    add(held.symbol);
    for (const Number &number : held.block->numbers)
      add(number.image);
    if (held.isReal() || held.isUnknown())
      return;
    add(held.tensor.quantization);
    add(held.block->bytes);
  }
  uint64_t seed = 0;

private:
  const Arithmetic &math;
};

} // namespace

uint64_t Machine::symbolOf(const Operator &op, llvm::ArrayRef<Held> operands) const {
  Mixer mixer(math);
  mixer.add(static_cast<uint64_t>(op.code));
  mixer.add(op.customCode());
  mixer.add(op.options, "BuiltinOptions");
  mixer.add(op.options2(), "BuiltinOptions2");
  if (op.customOptions().hasBytes())
    mixer.add(op.customOptions().bytes());
  for (auto [i, held] : llvm::enumerate(operands)) {
    mixer.add(i);
    if (held)
      mixer.add(held);
  }
  bool stored = false; // as integers, for which scales count
  for (const Value *result : op.results())
    if (result && !isReal(result->type)) {
      mixer.add(static_cast<uint64_t>(result->type));
      mixer.add(result->quantization);
      stored = true;
    }
  for (const Value *value : op.intermediates())
    if (value && stored)
      mixer.add(value->quantization);
  return mixer.seed;
}

void Machine::fill(Held &held, uint64_t key) const {
  auto drawn = [&](size_t i) { return math.mix(key, i); };
  if (held.isReal()) {
    for (auto [i, number] : llvm::enumerate(held.numbers()))
      number = math.symbol(Function::Opaque, key, i, 2 * std::ldexp(static_cast<double>(drawn(i) >> 11), -52) - 2, 0);
    return;
  }
  held.symbol = key;
  llvm::MutableArrayRef<uint8_t> bytes = held.block->bytes;
  size_t size = bitsPerElement(held.tensor.type).value_or(8) / 8;
  bool isNarrow = size <= 2 && held.tensor.type != TensorType::BOOL;
  for (size_t i = 0; i < bytes.size(); ++i) // wide ones are numbers of elements, or count
    bytes[i] = isNarrow ? static_cast<uint8_t>(drawn(i)) : i % size == 0 ? drawn(i) & 1 : 0;
}

llvm::Expected<Held> Machine::arbitrary(const Value &value, uint64_t key) const {
  auto held = make(value, value.type, value.shape);
  if (held)
    fill(*held, key);
  return held;
}

/// Their doubles are those of the reference engine, so that what comes behind finds numbers of a usual size.
Machine::Results Machine::opaque(const Operator &op, llvm::ArrayRef<Held> operands, std::string name) const {
  const uint64_t seed = symbolOf(op, operands);
  std::vector<TensorRef> refs(operands.size());
  llvm::SmallVector<const TensorRef *> given(operands.size(), nullptr);
  std::vector<std::vector<uint8_t>> stored(operands.size());
  bool runs = op.effects() == 0 && llvm::none_of(operands, [](const Held &held) { return held && held.isUnknown(); });
  for (size_t i = 0; i < operands.size(); ++i) {
    const Held &held = operands[i];
    if (!held)
      continue;
    refs[i] = TensorRef(held.tensor.type, held.tensor.shape, held.block->bytes);
    given[i] = &refs[i];
    if (!held.isReal())
      continue;
    std::vector<double> values;
    for (const Number &number : held.numbers())
      values.push_back(number.value);
    Tensor tensor = held.tensor;
    stored[i].resize(*payloadBytes(tensor.type, values.size()));
    tensor.storage = stored[i];
    runs &= storeNumbers(tensor, values);
    refs[i].bytes = stored[i];
  }
  std::vector<OwnedTensor> computed;
  if (runs) {
    auto tried = runOperator(op, given, limits.memory);
    if (tried)
      computed = std::move(*tried);
    else
      llvm::consumeError(tried.takeError());
  }
  llvm::SmallVector<Held, 2> results(op.results().size());
  for (unsigned i = 0; i < results.size(); ++i) {
    const Value *value = op.result(i);
    if (!value)
      continue;
    auto held =
        computed.empty() ? make(*value, value->type, value->shape) : make(*value, computed[i].type, computed[i].shape);
    if (!held)
      return held.takeError();
    held->opaque = name;
    fill(*held, math.mix(seed, i));
    if (!held->isReal()) {
      held->doubtful = true;
      if (!computed.empty() && !held->isUnknown()) {
        held->block->bytes = std::move(computed[i].bytes);
        held->tensor.storage = held->block->bytes;
      }
    } else if (!computed.empty()) {
      const Tensor tensor{.type = computed[i].type, .shape = computed[i].shape, .storage = computed[i].bytes};
      if (auto known = storedNumbers(tensor))
        for (auto [number, real] : llvm::zip(held->numbers(), *known))
          if (std::isfinite(real)) {
            // Operands whose doubles are off by a little may make other ones.
            number.value = real;
            number.error = 0x1p-20 * std::fabs(real);
          }
    }
    results[i] = std::move(*held);
  }
  return results;
}

} // namespace origo::eval::exact
