#include "quantize/OnnxFake.h"

#include "eval/Dense.h"
#include "ir/ConstantView.h"
#include "ir/CustomAttributes.h"
#include "quantize/Storages.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

using Op = BuiltinOperator;

namespace {

/// The scales and zero points that an operator of ONNX reads.
struct Scales {
  llvm::SmallVector<float, 8> scale;
  llvm::SmallVector<int64_t, 8> zero;
  TensorType type; ///< of zero points, and of the integers
  bool operator==(const Scales &) const = default;
};

/// None: they are no constants of uint8, int8 or int16, as many as scales, which are above 0.
std::optional<Scales> scalesOf(const Operator &op) {
  constexpr size_t most = 1 << 24; // channels
  auto scale = shortBytes(op.operand(1), most), zero = shortBytes(op.operand(2), most);
  if (!scale || !zero || !isReal(op.operand(1)))
    return std::nullopt;
  TensorType type = op.operand(2)->type;
  if (type != TensorType::UINT8 && type != TensorType::INT8 && type != TensorType::INT16)
    return std::nullopt;
  Scales scales{elementsOf<float>(*scale), *integersOf(type, *zero), type};
  bool good = llvm::all_of(scales.scale, [](float s) { return s > 0 && std::isfinite(s); });
  return good && !scales.scale.empty() && scales.scale.size() == scales.zero.size() ? std::optional(scales)
                                                                                    : std::nullopt;
}

std::pair<double, double> limitsOf(TensorType type) {
  switch (type) {
  case TensorType::UINT8:
    return {0, 255};
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
Quantization reaching(Model &model, TensorType type, llvm::ArrayRef<float> scales, llvm::ArrayRef<int64_t> zeroPoints) {
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
  Value *integers = op.operand(0);
  Operator *rounded = integers ? integers->producer() : nullptr;
  if (!isCustom(rounded, "ONNXQuantizeLinear") || !isReal(rounded->operand(0)))
    return;
  any = true;
  auto scales = scalesOf(op);
  // Kernels of ONE have no int8.
  if (!scales || scales->scale.size() != 1 || scales->type == TensorType::INT8 || scales->type != integers->type ||
      scales != scalesOf(*rounded) || integers->quantization)
    return;
  Quantization quantization = reaching(model, scales->type, scales->scale, scales->zero);
  model.setQuantization(*integers, quantization);
  fakes.noted.push_back(integers);
  give(*rounded->operand(0), scales->type, quantization);
  give(*op.result(), scales->type, quantization);
}

void FakeReader::readWeights(Operator &op) {
  const Value *constant = op.operand(0);
  if (!isDense(constant) || isReal(constant))
    return;
  any = true;
  auto scales = scalesOf(op);
  if (!scales || scales->type != constant->type) // of a bias, the scale follows from what it is added to
    return;
  auto axis =
      scales->scale.size() == 1 ? std::optional<size_t>(0) : axisIn(op.customOptions().bytes(), constant->rank());
  if (!axis || (scales->scale.size() > 1 && constant->shape[*axis] != static_cast<int64_t>(scales->scale.size())))
    return;
  // Numbers below 16 around 8 are those of four bits.
  auto isEight = [](int64_t zero) { return zero == 8; };
  if (scales->type == TensorType::UINT8 && llvm::all_of(scales->zero, isEight)) {
    auto bytes = shortBytes(constant, std::numeric_limits<size_t>::max());
    if (bytes && llvm::all_of(*bytes, [](uint8_t number) { return number < 16; })) {
      scales->type = TensorType::INT4;
      scales->zero.assign(scales->zero.size(), 0);
    }
  }
  // Kernels of ONE have no int8; with another zero point these are the same numbers.
  if (scales->type == TensorType::INT8) {
    scales->type = TensorType::UINT8;
    for (int64_t &zero : scales->zero)
      zero += 128;
  }
  Quantization quantization = reaching(model, scales->type, scales->scale, scales->zero);
  quantization.dimension = static_cast<int32_t>(*axis);
  op.result()->forEachUse([&](Use &use) {
    if (use.user()->code != Op::CUSTOM)
      fakes.weights.push_back({use.user(), use.operandIndex(), scales->type, quantization});
  });
}

/// What only moves numbers, or turns their sign, has the range of its operand; joined, that of all; a square its
/// square.
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

llvm::Expected<OnnxFakes> readOnnxFakes(Model &model, Scheme &scheme) { return FakeReader(model, scheme).read(); }

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
