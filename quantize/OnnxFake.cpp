#include "quantize/OnnxFake.h"

#include "eval/Dense.h"
#include "quantize/Storages.h"

#include "llvm/ADT/STLExtras.h"

#include "flatbuffers/flexbuffers.h"

#include <cmath>
#include <cstring>

namespace origo::quantize {

using Op = BuiltinOperator;

namespace {

/// Elements of a constant of integers or floats as doubles; none: it is something else.
std::optional<std::vector<double>> numbersOf(const Value *value, uint64_t most) {
  if (!isDense(value) || value->elementCount().value_or(0) == 0 || *value->elementCount() > most)
    return std::nullopt;
  std::vector<double> numbers(*value->elementCount());
  auto read = [&](auto element) {
    std::vector<decltype(element)> raw(numbers.size());
    value->payload().read(0, {reinterpret_cast<uint8_t *>(raw.data()), raw.size() * sizeof element});
    llvm::copy(raw, numbers.begin());
    return true;
  };
  bool known = value->type == TensorType::FLOAT32 ? read(float())
               : value->type == TensorType::UINT8 ? read(uint8_t())
               : value->type == TensorType::INT8  ? read(int8_t())
               : value->type == TensorType::INT16 ? read(int16_t())
               : value->type == TensorType::INT32 ? read(int32_t())
                                                  : false;
  return known ? std::optional(std::move(numbers)) : std::nullopt;
}

std::pair<double, double> limitsOf(TensorType type) {
  switch (type) {
  case TensorType::UINT8:
    return {0, 255};
  case TensorType::INT8:
    return {-128, 127};
  case TensorType::INT4:
    return {-8, 7};
  default:
    return {-32767, 32767};
  }
}

class FakeReader {
public:
  FakeReader(Model &model, Scheme &scheme) : model(model), scheme(scheme) {}
  llvm::Expected<OnnxFakes> read();

private:
  Model &model;
  Scheme &scheme;
  OnnxFakes fakes;
  llvm::DenseMap<const Value *, TensorType> types; ///< of tensors that have a range
  bool any = false;

  void readPair(Operator &op);
  void readWeights(Operator &op);
  void give(Value &value, TensorType type, const Quantization &quantization);
  void giveResult(Operator &op);
  void giveOperands(Operator &op);
  void choose(const Operator &op);
};

bool isCustom(const Operator *op, llvm::StringRef name) {
  return op && op->code == Op::CUSTOM && op->customCode() == name && op->numOperands() == 3 && op->result();
}

/// With what integers of the type reach as the range.
static Quantization reaching(Model &model, TensorType type, llvm::ArrayRef<float> scales, llvm::ArrayRef<int64_t> zeroPoints) {
  auto [low, high] = limitsOf(type);
  llvm::SmallVector<float> min, max;
  for (auto [scale, zero] : llvm::zip_equal(scales, zeroPoints)) {
    min.push_back(static_cast<float>((low - static_cast<double>(zero)) * static_cast<double>(scale)));
    max.push_back(static_cast<float>((high - static_cast<double>(zero)) * static_cast<double>(scale)));
  }
  Quantization quantization;
  quantization.scale = model.copy(scales);
  quantization.zeroPoint = model.copy(zeroPoints);
  quantization.min = model.copy(llvm::ArrayRef<float>(min));
  quantization.max = model.copy(llvm::ArrayRef<float>(max));
  return quantization;
}

void FakeReader::give(Value &value, TensorType type, const Quantization &quantization) {
  if (types.try_emplace(&value, type).second)
    model.setQuantization(value, quantization);
}

void FakeReader::readPair(Operator &op) {
  Operator *rounded = op.operand(0) ? op.operand(0)->producer() : nullptr;
  if (!isCustom(rounded, "ONNXQuantizeLinear") || !isReal(rounded->operand(0)))
    return;
  any = true;
  auto scale = numbersOf(op.operand(1), 1), zero = numbersOf(op.operand(2), 1);
  TensorType type = op.operand(2) ? op.operand(2)->type : TensorType::FLOAT32;
  if (!scale || !zero || !(scale->front() > 0) || !std::isfinite(scale->front()) || type != op.operand(0)->type ||
      (type != TensorType::UINT8 && type != TensorType::INT16) || numbersOf(rounded->operand(1), 1) != scale ||
      numbersOf(rounded->operand(2), 1) != zero)
    return;
  Quantization quantization = reaching(model, type, {static_cast<float>(scale->front())}, {static_cast<int64_t>(zero->front())});
  if (op.operand(0)->quantization)
    return;
  model.setQuantization(*op.operand(0), quantization);
  fakes.noted.push_back(op.operand(0));
  give(*rounded->operand(0), type, quantization);
  give(*op.result(), type, quantization);
}

/// The axis is an attribute; without, the first dimension.
int32_t axisOf(const Operator &op, int32_t rank) {
  llvm::ArrayRef<uint8_t> bytes = op.customOptions().bytes();
  std::vector<uint8_t> seen;
  int64_t axis = 0;
  if (!bytes.empty() && flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), &seen))
    if (flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size()); root.IsMap())
      axis = root.AsMap()["axis"].AsInt64();
  axis = axis < 0 ? axis + rank : axis;
  return axis >= 0 && axis < rank ? static_cast<int32_t>(axis) : -1;
}

void FakeReader::readWeights(Operator &op) {
  Value *constant = op.operand(0);
  if (!isDense(constant) || isReal(constant))
    return;
  any = true;
  constexpr uint64_t mostChannels = 1 << 24;
  auto scales = numbersOf(op.operand(1), mostChannels), zeros = numbersOf(op.operand(2), mostChannels);
  if (!scales || !zeros || scales->size() != zeros->size() ||
      llvm::any_of(*scales, [](double s) { return !(s > 0) || !std::isfinite(s); }))
    return;
  int32_t axis = scales->size() == 1 ? 0 : axisOf(op, constant->rank());
  if (axis < 0 || (scales->size() > 1 && constant->shape[static_cast<size_t>(axis)] != static_cast<int64_t>(scales->size())))
    return;
  llvm::SmallVector<float> scale;
  llvm::SmallVector<int64_t> zero;
  for (auto [s, z] : llvm::zip_equal(*scales, *zeros)) {
    scale.push_back(static_cast<float>(s));
    zero.push_back(static_cast<int64_t>(z));
  }
  if (constant->type == TensorType::INT32)
    return; // a bias, whose scale follows from what it is added to
  TensorType type = constant->type;
  // Numbers below 16 around 8 are those of four bits.
  if (type == TensorType::UINT8 && llvm::all_of(zero, [](int64_t z) { return z == 8; })) {
    auto numbers = numbersOf(constant, std::numeric_limits<uint64_t>::max());
    if (numbers && llvm::all_of(*numbers, [](double q) { return q < 16; })) {
      type = TensorType::INT4;
      zero.assign(zero.size(), 0);
    }
  }
  // Symmetric numbers of 8 bits are kept as uint8, whose kernels are ONE's.
  if (type == TensorType::INT8) {
    type = TensorType::UINT8;
    for (int64_t &z : zero)
      z += 128;
  }
  Quantization quantization = reaching(model, type, scale, zero);
  quantization.dimension = axis;
  op.result()->forEachUse([&](Use &use) {
    if (use.user()->code != Op::CUSTOM)
      fakes.weights.push_back({use.user(), use.operandIndex(), type, quantization});
  });
}

/// What only moves numbers, or turns their sign, has the range of its operand; joined, that of all; a square its square.
void FakeReader::giveResult(Operator &op) {
  Value *result = op.result();
  if (!result || !isReal(result) || types.contains(result) || !op.info())
    return;
  std::optional<TensorType> type;
  const Quantization *widest = nullptr;
  unsigned real = 0;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *operand = op.operand(i);
    if (!isReal(operand) || operand->isConstant())
      continue;
    auto found = types.find(operand);
    if (found == types.end() || (type && *type != found->second))
      return;
    type = found->second;
    widest = real++ && widest->scale[0] >= operand->quantization->scale[0] ? widest : operand->quantization;
  }
  if (!type)
    return;
  bool moves = op.info()->has(Trait::DataMovement) && real == 1, is16 = *type == TensorType::INT16;
  if (moves || (is16 && (op.code == Op::NEG || op.code == Op::CONCATENATION))) {
    for (Value *value : op.results())
      if (value && isReal(value))
        give(*value, *type, *widest);
  } else if (is16 && op.code == Op::MUL && op.operand(0) == op.operand(1)) {
    float scale = widest->scale[0];
    give(*result, *type, reaching(model, *type, {scale * scale * 32767}, {0}));
  }
}

/// The same the other way, for what nobody else reads.
void FakeReader::giveOperands(Operator &op) {
  Value *result = op.result();
  if (!result || !op.info() || !op.info()->has(Trait::DataMovement) || op.code == Op::CONCATENATION)
    return;
  auto found = types.find(result);
  Value *operand = op.numOperands() ? op.operand(0) : nullptr;
  if (found == types.end() || !isReal(operand) || operand->isConstant() || types.contains(operand) ||
      !operand->hasOneUse())
    return;
  give(*operand, TensorType(found->second), *result->quantization);
}

void FakeReader::choose(const Operator &op) {
  if (!op.result() || op.code == Op::CUSTOM) // which are to go
    return;
  std::optional<TensorType> type;
  auto look = [&](const Value *value) {
    auto found = type || !value ? types.end() : types.find(value);
    if (found != types.end())
      type = found->second;
  };
  for (const Value *value : op.results())
    look(value);
  for (unsigned i = 0; i < op.numOperands(); ++i)
    look(op.operand(i));
  if (type != TensorType::UINT8)
    return;
  Scheme::Choice &choice = scheme.layers[op.result()->name];
  choice = scheme.common;
  choice.activations = choice.weights = TensorType::UINT8;
  choice.bias = TensorType::INT32;
}

llvm::Expected<OnnxFakes> FakeReader::read() {
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      if (isCustom(&op, "ONNXDequantizeLinear")) {
        readPair(op);
        readWeights(op);
      }
  if (!any)
    return makeError("it has no ONNXQuantizeLinear and ONNXDequantizeLinear: for a model of floats, use "
                     "--quantize_with_minmax or --scheme");
  for (auto &graph : model.subgraphs) {
    for (Operator &op : graph->operators)
      giveResult(op);
    for (Operator &op : llvm::reverse(graph->operators))
      giveOperands(op);
  }
  scheme.common.activations = scheme.common.weights = TensorType::INT16;
  scheme.common.bias = TensorType::INT64;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      choose(op);
  for (const OnnxFakes::Weights &one : fakes.weights)
    if (const Value *result = one.user->result()) {
      auto [layer, isNew] = scheme.layers.try_emplace(result->name, scheme.common);
      layer->second.weights = one.type;
    }
  auto typesOf = [&](llvm::ArrayRef<Value *> values, auto &list) {
    for (const Value *value : values)
      if (isReal(value))
        list.push_back(types.contains(value) ? types.lookup(value) : TensorType::FLOAT32);
  };
  Subgraph &graph = *model.subgraphs.front();
  if (scheme.inputs.empty())
    typesOf(graph.inputs, scheme.inputs);
  if (scheme.outputs.empty())
    typesOf(graph.outputs, scheme.outputs);
  return std::move(fakes);
}

} // namespace

llvm::Expected<OnnxFakes> readOnnxFakes(Model &model, Scheme &scheme) {
  return FakeReader(model, scheme).read();
}

void keepScales(Model &model, const OnnxFakes &fakes) {
  for (Value *value : fakes.noted)
    if (!value->erased() && !isReal(value))
      value->quantization = nullptr;
  for (const OnnxFakes::Weights &one : fakes.weights) {
    Value *value = one.user->operand(one.operand);
    if (!value || !value->isConstant() || !isReal(value))
      continue;
    model.setQuantization(*value, one.quantization);
  }
}

} // namespace origo::quantize
