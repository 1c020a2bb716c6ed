#include "quantize/Prefix.h"

#include "eval/Dense.h"
#include "eval/Parts.h"
#include "quantize/Constraints.h"
#include "schema/TensorTypes.h"

#include <cmath>
#include <cstring>

namespace origo::quantize {

using namespace eval;

void roundTo(const Storage &storage, llvm::MutableArrayRef<float> numbers) {
  const Quantization *q = storage.quantization;
  if (!q || q->scale.size() != 1)
    return;
  float scale = q->scale[0], zero = q->zeroPoint.empty() ? 0 : static_cast<float>(q->zeroPoint[0]);
  auto bits = static_cast<int>(*bitsPerElement(storage.type));
  bool isUnsigned = storage.type == TensorType::UINT8;
  float low = isUnsigned ? 0 : -std::ldexp(1.f, bits - 1), high = low + std::ldexp(1.f, bits) - 1;
  for (float &x : numbers)
    x = (std::clamp(std::round(x / scale) + zero, low, high) - zero) * scale;
}

/// As whoever computes a tensor leaves it, or else as the first who reads it finds it. Null: as floats.
const Storage *Prefix::storageOf(const Value &value) const {
  if (const Operator *maker = value.producer()) {
    const StoragePlan::Decision *decision = plan.of(*maker);
    for (size_t i = 0; decision && i < decision->results.size(); ++i)
      if (maker->result(i) == &value && decision->results[i])
        return decision->results[i];
  }
  for (const Operator &op : graph.operators)
    if (const StoragePlan::Decision *decision = plan.of(op))
      for (size_t i = 0; i < std::min<size_t>(decision->operands.size(), op.numOperands()); ++i)
        if (op.operand(i) == &value && decision->operands[i])
          return decision->operands[i];
  return nullptr;
}

Prefix::~Prefix() {
  for (auto [value, shape] : openShapes)
    value->setShapeSignature(shape);
}

/// As the model states it.
static std::optional<uint64_t> bytesOf(const Value &value) {
  int64_t count = eval::product(value.shape);
  return count >= 0 ? payloadBytes(value.type, static_cast<uint64_t>(count)) : std::nullopt;
}

/// Which operators run when, and how long what they compute is kept. False: something is kept of which the size is not
/// known.
bool Prefix::divide(const llvm::DenseSet<const Value *> &always, uint64_t &bytes) {
  size_t stretch = 0;
  for (const Operator &op : graph.operators) {
    if (stretch < stops.size() && stops[stretch] == &op)
      ++stretch;
    stretchOf[&op] = stretch;
    for (const Use &use : op.operands())
      if (use.get() && !use.get()->isConstant())
        lastUse[use.get()] = stretch;
  }
  std::vector<uint64_t> alive(stretch + 2);
  for (const Operator &op : graph.operators)
    for (const Value *value : op.results())
      if (auto last = value ? lastUse.find(value) : lastUse.end();
          last != lastUse.end() && last->second > stretchOf[&op]) {
        auto size = always.contains(value) ? bytesOf(*value) : std::nullopt;
        if (!size)
          return false;
        for (size_t s = stretchOf[&op]; s <= last->second; ++s)
          alive[s] += 2 * *size;
      }
  for (const Value *value : graph.inputs) {
    auto size = bytesOf(*value);
    if (!size)
      return false;
    bytes += 2 * *size;
  }
  bytes += *std::max_element(alive.begin(), alive.end());
  return true;
}

llvm::Expected<bool> Prefix::open(OpenRecords openRecords) {
  constexpr uint64_t memory = uint64_t(768) << 20, most = 128;
  auto asIs = compile(model, {.engine = Engine::Fast});
  if (!asIs)
    return asIs.takeError();
  auto openPorts = asIs->inputs(); // records tell what of these is not known
  if (!openPorts)
    return openPorts.takeError();
  auto opened = openRecords(*openPorts, {});
  if (!opened)
    return opened.takeError();
  for (Value *value : graph.inputs)
    if (!value->shapeSignature().empty()) {
      openShapes.emplace_back(value, value->shapeSignature());
      value->setShapeSignature({});
    }
  auto made = compile(model, {.engine = Engine::Fast, .observed = true});
  if (!made)
    return made.takeError();
  session.emplace(std::move(*made));
  auto ports = session->inputs();
  auto always = session->always();
  if (!ports || !always)
    return firstError(ports, always);
  uint64_t bytes = 1;
  if (always->empty() || remembers(model) || !divide(*always, bytes) || bytes > memory)
    return false;
  for (const Port &port : *ports)
    inputs.push_back(port.value);
  uint64_t all = (*opened)->count(), wanted = std::min({all, most, memory / bytes});
  for (uint64_t i = 0; i < wanted; ++i) {
    auto read = (*opened)->read(i * all / wanted);
    if (!read)
      return read.takeError();
    for (auto [tensor, value] : llvm::zip_equal(*read, inputs))
      if (llvm::ArrayRef<int32_t>(tensor.shape) != llvm::ArrayRef<int32_t>(value->shape))
        return false;
    Record &record = records.emplace_back();
    record.inputs = record.quantizedInputs = std::move(*read);
    for (auto [tensor, value] : llvm::zip_equal(record.quantizedInputs, inputs))
      if (const Storage *storage = tensor.type == TensorType::FLOAT32 ? storageOf(*value) : nullptr)
        roundTo(*storage, {reinterpret_cast<float *>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)});
  }
  return !records.empty();
}

RunPart Prefix::partOf(size_t stretch) const {
  RunPart part;
  for (const Operator &op : graph.operators)
    if (stretchOf.lookup(&op) == stretch)
      part.computes.insert(&op);
  for (const Operator *op : part.computes)
    for (const Use &use : op->operands())
      if (const Value *value = use.get(); value && value->producer() && !part.computes.contains(value->producer()))
        part.given.insert(value);
  return part;
}

/// Those that nobody has chosen are the nearest.
void Prefix::roundConstants(size_t stretch) {
  for (const Operator &op : graph.operators) {
    const StoragePlan::Decision *decision = stretchOf.lookup(&op) == stretch ? plan.of(op) : nullptr;
    for (size_t i = 0; decision && i < std::min<size_t>(decision->operands.size(), op.numOperands()); ++i) {
      const Value *value = op.operand(i);
      const Storage *storage = decision->operands[i];
      if (!value || !storage || !value->isConstant() || value->type != TensorType::FLOAT32 || !isDense(value) ||
          static_cast<int>(i) == biasOf(op.code) || changed.contains(value) || !storage->quantization)
        continue;
      std::vector<float> numbers(value->payload().size() / sizeof(float));
      value->payload().read(0, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * sizeof(float)});
      const Quantization &q = *storage->quantization;
      if (q.scale.size() == 1) {
        roundTo(*storage, numbers);
      } else if (q.details == Quantization::Details::None) {
        size_t inner = 1;
        for (int32_t d = q.dimension + 1; d < value->rank(); ++d)
          inner *= static_cast<size_t>(value->shape[d]);
        float most = std::ldexp(1.f, static_cast<int>(*bitsPerElement(storage->type)) - 1) - 1;
        for (auto [k, x] : llvm::enumerate(numbers)) {
          float scale = q.scale[k / inner % q.scale.size()];
          x = std::clamp(std::round(x / scale), -most, most) * scale;
        }
      }
      changed[value] = std::move(numbers);
    }
  }
}

void Prefix::set(const Value &constant, std::vector<float> numbers) { changed[&constant] = std::move(numbers); }

llvm::Error Prefix::run(size_t stretch, const Session &with, Record &record, bool quantizes, State &state) {
  RunPart part = partOf(stretch);
  Kept &kept = quantizes ? record.quantized : record.real;
  const Operator *first = stretch > 0 ? stops[stretch - 1] : nullptr;
  RunOptions options;
  options.part = &part;
  options.state = &state;
  options.observer = [&](const Operator &op, const Value &value, Tensor &tensor) {
    if (part.given.contains(&value)) {
      const OwnedTensor &own = kept.at(&value);
      std::memcpy(tensor.storage.data(), own.bytes.data(), std::min(tensor.storage.size(), own.bytes.size()));
      return;
    }
    if (value.subgraph() != &graph)
      return;
    if (quantizes && tensor.type == TensorType::FLOAT32) {
      llvm::MutableArrayRef<float> numbers = tensor.as<float>();
      if (&op == first)
        for (size_t i = 0; i < numbers.size() && !added.empty(); ++i)
          numbers[i] += added[i % added.size()];
      if (const Storage *storage = storageOf(value))
        roundTo(*storage, numbers);
    }
    if (auto last = lastUse.find(&value); last != lastUse.end() && last->second > stretch)
      kept[&value] = {tensor.type, tensor.shape, {tensor.storage.begin(), tensor.storage.end()}};
  };
  const auto &given = quantizes ? record.quantizedInputs : record.inputs;
  auto made = with.run(std::vector<TensorRef>(given.begin(), given.end()), options);
  if (!made)
    return made.takeError();
  std::erase_if(kept, [&](const auto &one) { return lastUse.lookup(one.first) <= stretch; });
  return llvm::Error::success();
}

llvm::Expected<bool> Prefix::next() {
  if (at == stops.size())
    return false;
  size_t stretch = at++;
  roundConstants(stretch);
  std::vector<std::pair<Buffer *, Payload>> before;
  for (auto &[value, numbers] : changed) {
    before.emplace_back(value->buffer, value->buffer->payload);
    value->buffer->payload =
        Payload::owned(std::string(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float)));
  }
  auto quantized = compile(model, {.engine = Engine::Fast, .observed = true});
  llvm::Error error = quantized ? llvm::Error::success() : quantized.takeError();
  State own;
  for (Record &record : records) {
    if (!error)
      error = run(stretch, *session, record, false, state);
    if (!error)
      error = run(stretch, *quantized, record, true, own);
  }
  for (auto &[buffer, payload] : before)
    buffer->payload = std::move(payload);
  changed.clear();
  added.clear();
  if (error)
    return llvm::Expected<bool>(std::move(error));
  return true;
}

Prefix::Both Prefix::tensor(uint64_t record, const Value &value) const {
  const Record &own = records[record];
  const OwnedTensor *real = nullptr, *quantized = nullptr;
  for (auto [i, input] : llvm::enumerate(inputs))
    if (input == &value) {
      real = &own.inputs[i];
      quantized = &own.quantizedInputs[i];
    }
  if (!real) {
    auto a = own.real.find(&value), b = own.quantized.find(&value);
    if (a == own.real.end() || b == own.quantized.end())
      return {};
    real = &a->second;
    quantized = &b->second;
  }
  auto floats = [](const OwnedTensor &tensor) {
    return llvm::ArrayRef(reinterpret_cast<const float *>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float));
  };
  return {floats(*real), floats(*quantized), real->shape};
}

} // namespace origo::quantize
