#include "quantize/Carried.h"

#include "ir/Activation.h"
#include "ir/ConstantView.h"
#include "quantize/Storages.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

using Op = BuiltinOperator;

namespace {

/// Integers with scales that are numbers above zero, and as many zero points.
bool isQuantized(const Value *value) {
  const Quantization *q = value ? value->quantization : nullptr;
  return q && !isReal(value) && q->details == Quantization::Details::None && !q->scale.empty() &&
         q->zeroPoint.size() == q->scale.size() &&
         llvm::all_of(q->scale, [](float s) { return s > 0 && std::isfinite(s); });
}

bool isPerTensor(const Storage &storage) { return storage.quantization->scale.size() == 1; }

/// Operators whose result has numbers of their operand of floats and no others, but for zeros.
bool keepsNumbers(const Operator &op) {
  const OperatorInfo *info = op.info();
  auto activation = activationOf(op);
  return info && op.effects() == 0 &&
         (activation == circle::ActivationFunctionType::NONE || activation == circle::ActivationFunctionType::RELU) &&
         (info->has(Trait::DataMovement) || op.code == Op::MAX_POOL_2D);
}

/// The lone operand of floats, which is where they come from; null: there are several, or none.
Value *movedBy(const Operator &op) {
  Value *moved = nullptr;
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (isReal(op.operand(i))) {
      if (moved)
        return nullptr;
      moved = op.operand(i);
    }
  return moved;
}

class CarriedReader {
public:
  CarriedReader(Model &model, CarriedScales &scales) : model(model), scales(scales) {}
  std::vector<CarriedConstant> read();

private:
  Model &model;
  CarriedScales &scales;
  llvm::DenseMap<const Value *, Storage> constants; ///< floats that follow from constants
  std::vector<CarriedConstant> list;

  std::optional<Storage> storageOf(const Value &integers);
  bool isFixed(const Value *value) const { return value && (value->isConstant() || constants.contains(value)); }
  void readConstant(Operator &op);
  void readRounded(Value &value);
  std::optional<Storage> moved(const Operator &op, const Storage &storage);
  void give(const Value &value, const Storage &storage) { scales.storages.try_emplace(&value, storage); }
};

std::optional<Storage> CarriedReader::storageOf(const Value &integers) {
  if (!isQuantized(&integers))
    return std::nullopt;
  Storage storage{integers.type, integers.quantization};
  if (integers.type != TensorType::UINT8)
    return storage;
  Quantization signedOnes = *integers.quantization;
  llvm::SmallVector<int64_t> zeros;
  for (int64_t zero : signedOnes.zeroPoint)
    zeros.push_back(zero - 128);
  signedOnes.zeroPoint = model.copy(llvm::ArrayRef<int64_t>(zeros));
  return Storage{TensorType::INT8, model.create(signedOnes)};
}

/// The scales of a constant behind an operator that moves it: their axis may be another one. None: they are mixed up.
std::optional<Storage> CarriedReader::moved(const Operator &op, const Storage &storage) {
  if (isPerTensor(storage))
    return storage;
  const Value &from = *movedBy(op), &to = *op.result();
  int32_t axis = storage.quantization->dimension, now = -1;
  if (axis < 0 || axis >= from.rank() || !from.isStatic() || !to.isStatic())
    return std::nullopt;
  if (op.code == Op::TRANSPOSE) {
    auto bytes = shortBytes(op.operand(1), 64);
    auto order = bytes ? integersOf(op.operand(1)->type, *bytes) : std::nullopt;
    for (size_t i = 0; order && i < order->size(); ++i)
      now = (*order)[i] == axis ? static_cast<int32_t>(i) : now;
  } else if (op.code == Op::RESHAPE || op.code == Op::SQUEEZE || op.code == Op::EXPAND_DIMS) {
    auto before = [](llvm::ArrayRef<int32_t> shape, int32_t end) {
      int64_t count = 1;
      for (int32_t size : shape.take_front(static_cast<size_t>(end)))
        count *= size;
      return count;
    };
    for (int32_t d = 0; d < to.rank() && now < 0; ++d)
      if (to.shape[d] == from.shape[axis] && before(to.shape, d) == before(from.shape, axis))
        now = d;
  }
  if (now < 0)
    return std::nullopt;
  Quantization turned = *storage.quantization;
  turned.dimension = now;
  return Storage{storage.type, model.create(turned)};
}

/// Constants behind QUANTIZE, DEQUANTIZE and what moves them.
void CarriedReader::readConstant(Operator &op) {
  if (op.results().size() != 1 || !op.result())
    return;
  if (op.code == Op::QUANTIZE || op.code == Op::DEQUANTIZE) {
    if (!isFixed(op.operand(0)))
      return;
    auto storage = storageOf(op.code == Op::QUANTIZE ? *op.result() : *op.operand(0));
    if (storage)
      constants.try_emplace(op.result(), *storage);
    return;
  }
  const Value *from = keepsNumbers(op) ? movedBy(op) : nullptr;
  auto found = from ? constants.find(from) : constants.end();
  if (found == constants.end() ||
      !llvm::all_of(op.operands(), [&](const Use &use) { return !use.get() || isFixed(use.get()); }))
    return;
  if (auto storage = moved(op, found->second))
    constants.try_emplace(op.result(), *storage);
}

/// A tensor that all its readers round in the same way can be rounded by who computes it.
void CarriedReader::readRounded(Value &value) {
  if (!isReal(&value) || isFixed(&value))
    return;
  std::optional<Storage> storage;
  const char *why = nullptr;
  bool any = false, readAsFloats = value.isGraphOutput();
  value.forEachUse([&](Use &use) {
    const Operator &reader = *use.user();
    if (reader.code != Op::QUANTIZE || !reader.result()) {
      readAsFloats = true;
      return;
    }
    any = true;
    auto here = storageOf(*reader.result());
    if (!here || !isPerTensor(*here))
      why = "is rounded with several scales, which only weights can have";
    else if (storage && !(*storage == *here))
      why = "is rounded in two ways";
    storage = here;
  });
  if (!any)
    return;
  if (readAsFloats)
    why = "is read without being rounded, too";
  if (why)
    scales.why[&value] = why;
  else
    give(value, *storage);
}

std::vector<CarriedConstant> CarriedReader::read() {
  for (auto &graph : model.subgraphs) {
    for (Operator &op : graph->operators) {
      readConstant(op);
      if (op.code == Op::DEQUANTIZE && op.result() && !isFixed(op.operand(0)))
        if (auto storage = storageOf(*op.operand(0)); storage && isPerTensor(*storage))
          give(*op.result(), *storage);
    }
    for (Value *value : graph->values)
      readRounded(*value);
    auto given = [&](const Value *value) { return value ? scales.of(*value) : nullptr; };
    for (Operator &op : graph->operators) {
      const Value *moved = keepsNumbers(op) ? movedBy(op) : nullptr;
      auto table = constants.find(moved);
      const Storage *from = table != constants.end() && isPerTensor(table->second) ? &table->second : given(moved);
      if (from)
        for (Storage storage = *from; const Value *result : op.results())
          if (isReal(result) && !isFixed(result) && !scales.why.contains(result))
            give(*result, storage);
    }
    for (Operator &op : llvm::reverse(graph->operators)) {
      Value *from = keepsNumbers(op) && op.results().size() == 1 ? movedBy(op) : nullptr;
      const Storage *storage =
          from && from->hasOneUse() && !isFixed(from) && !given(from) ? given(op.result()) : nullptr;
      if (storage)
        give(*from, Storage(*storage));
    }
    for (Operator &op : graph->operators)
      for (unsigned i = 0; i < op.numOperands(); ++i)
        if (auto found = isReal(op.operand(i)) ? constants.find(op.operand(i)) : constants.end();
            found != constants.end() && !constants.contains(op.result()))
          list.push_back({&op, i, found->second});
  }
  return std::move(list);
}

} // namespace

bool carriesScales(const Model &model) {
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      const Value *x = op.numOperands() ? op.operand(0) : nullptr;
      if (op.code == Op::FAKE_QUANT && isReal(x) && !x->isConstant())
        return true;
      const Operator *rounded = op.code == Op::DEQUANTIZE && x ? x->producer() : nullptr;
      if (rounded && rounded->code == Op::QUANTIZE && isReal(rounded->operand(0)) && !rounded->operand(0)->isConstant())
        return true;
    }
  return false;
}

llvm::Expected<StoragePlan> planFakeQuants(Model &model) {
  StoragePlan made;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      const auto *options = op.code == Op::FAKE_QUANT ? op.options.as<circle::FakeQuantOptions>() : nullptr;
      if (!options || options->num_bits() != 8 || !(options->min() < options->max()) ||
          !std::isfinite(options->max() - options->min()))
        continue;
      // As the kernel moves the range, so that 0 is one of the numbers.
      float low = options->narrow_range() ? 1 : 0, high = 255;
      float scale = (options->max() - options->min()) / (high - low);
      float zero = std::clamp(std::round(low - options->min() / scale), low, high);
      Quantization quantization;
      quantization.scale = model.copy(llvm::ArrayRef<float>(scale));
      quantization.zeroPoint = model.copy(llvm::ArrayRef<int64_t>(static_cast<int64_t>(zero) - 128));
      StoragePlan::Decision &decision = made.operators[&op];
      decision.results.push_back(&made.storages.emplace_back(Storage{TensorType::INT8, model.create(quantization)}));
    }
  return made;
}

std::vector<CarriedConstant> readCarried(Model &model, CarriedScales &scales) {
  model.number();
  return CarriedReader(model, scales).read();
}

void keepCarried(llvm::ArrayRef<CarriedConstant> constants, CarriedScales &scales) {
  for (const CarriedConstant &one : constants)
    if (const Value *value = one.user->erased() ? nullptr : one.user->operand(one.operand);
        value && value->isConstant() && isReal(value))
      scales.storages.try_emplace(value, one.storage);
}

} // namespace origo::quantize
