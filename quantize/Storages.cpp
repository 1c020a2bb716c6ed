#include "quantize/Storages.h"

#include "eval/Dense.h"
#include "quantize/Blocks.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

using Op = BuiltinOperator;

bool isReal(const Value *value) { return value && value->type == TensorType::FLOAT32; }

std::optional<Extremes> recordedRange(const Value &value) {
  const Quantization *q = value.quantization;
  if (!q || q->min.size() != 1 || q->max.size() != 1 || !(q->min[0] <= q->max[0]) || !std::isfinite(q->min[0]) ||
      !std::isfinite(q->max[0]))
    return std::nullopt;
  return Extremes{q->min[0], q->max[0]};
}

Scaling scalingOf(const Operator &op, const Scheme &scheme) {
  if (op.code == Op::MAX_POOL_2D && scheme.poolKeepsScale)
    return Scaling::AsInput;
  return scalingOf(op.code, scheme.dialect);
}

const Storage *Storages::make(TensorType type, llvm::ArrayRef<Parameters> parameters, int32_t axis, Extremes range,
                              llvm::ArrayRef<Value *> parents) {
  llvm::SmallVector<float> scales;
  llvm::SmallVector<int64_t> zeroPoints;
  for (const Parameters &one : parameters) {
    scales.push_back(one.scale);
    zeroPoints.push_back(one.zeroPoint);
  }
  Quantization quantization;
  quantization.scale = model.copy(llvm::ArrayRef<float>(scales));
  quantization.zeroPoint = model.copy(llvm::ArrayRef<int64_t>(zeroPoints));
  quantization.dimension = axis;
  if (!range.empty()) {
    quantization.min = model.copy(llvm::ArrayRef(range.min));
    quantization.max = model.copy(llvm::ArrayRef(range.max));
  }
  return keep({type, model.create(quantization), {parents.begin(), parents.end()}});
}

const Storage *Storages::aroundZero(TensorType type, Extremes range) {
  float reach = std::max({-range.min, range.max, 0.f}), most = type == TensorType::INT16 ? 32767 : 127;
  // As of any tensor that is always 0.
  return reach > 0 ? make(type, Parameters{std::max(reach / most, std::numeric_limits<float>::min()), 0}, 0)
                   : make(type, Parameters{1.f / 255, 0}, 0);
}

const Storage *Storages::withScale(const Storage &storage, float scale) {
  int64_t zero = storage.quantization->zeroPoint[0];
  double lowest = storage.type == TensorType::UINT8 ? 0 : storage.type == TensorType::INT16 ? 0 : -128;
  double steps = (static_cast<double>(zero) - lowest) * double{storage.quantization->scale[0]} / double{scale};
  return make(storage.type, Parameters{scale, static_cast<int64_t>(lowest + std::round(steps))}, 0);
}

std::optional<Extremes> Storages::rangeOf(const Value &value) {
  if (!value.isConstant())
    return recordedRange(value);
  Extremes range = extremesOf(value, -1).front();
  return std::isfinite(range.min) && std::isfinite(range.max) ? std::optional(range) : std::nullopt;
}

/// Is the range of a tensor of floats what integers of this type reach by the scale that it has?
static bool reaches(const Quantization &given, TensorType type) {
  if (given.scale.size() != 1 || (type != TensorType::UINT8 && type != TensorType::INT16))
    return false;
  double steps = type == TensorType::UINT8 ? 255 : 2 * 32767;
  double reach = steps * static_cast<double>(given.scale[0]);
  return std::fabs(static_cast<double>(given.max[0]) - static_cast<double>(given.min[0]) - reach) < 1e-5 * reach;
}

/// What the model says itself of a tensor. Null: nothing.
const Storage *Storages::carried(const Value &value) {
  const Storage *own = scheme.carried ? scheme.carried->of(value) : nullptr;
  return own ? keep(*own) : nullptr;
}

/// Null: there is no range.
const Storage *Storages::ofTensor(const Value &value, TensorType type) {
  const Storage *&known = canonical[{&value, static_cast<unsigned>(type)}];
  if (known)
    return known;
  // What has its scale given has it in every type.
  if (const Operator *op = value.producer(); op && scalingOf(*op, scheme) == Scaling::Fixed)
    if (auto fixed = fixedScale(op->code, type, scheme.dialect))
      return known = make(type, Parameters{static_cast<float>(fixed->scale), fixed->zeroPoint}, 0);
  if (const Storage *own = carried(value); own && own->type == type)
    return known = own;
  auto range = recordedRange(value);
  if (range && hasOwnScales(value) && reaches(*value.quantization, type))
    return known = make(type, Parameters{value.quantization->scale[0], value.quantization->zeroPoint[0]}, 0, *range);
  return known = range ? ofRange(type, *range) : nullptr;
}

const std::vector<Extremes> &Storages::extremesOf(const Value &constant, int32_t axis) {
  std::vector<Extremes> &known = extremes[{&constant, axis}];
  if (known.empty())
    known = quantize::extremesOf(constant, axis);
  return known;
}

bool hasOwnScales(const Value &constant) {
  const Quantization *q = constant.quantization;
  return q && !q->scale.empty() && q->details == Quantization::Details::None && q->zeroPoint.size() == q->scale.size();
}

/// With what its integers reach as the range: (lowest − zero point) · scale, and the highest likewise.
const Storage *Storages::withReach(const Storage &plain) {
  Quantization quantization = *plain.quantization;
  float low = plain.type == TensorType::UINT8 ? 0 : -32767, high = plain.type == TensorType::UINT8 ? 255 : 32767;
  llvm::SmallVector<float> min, max;
  for (auto [scale, zero] : llvm::zip_equal(quantization.scale, quantization.zeroPoint)) {
    min.push_back((low - static_cast<float>(zero)) * scale);
    max.push_back((high - static_cast<float>(zero)) * scale);
  }
  quantization.min = model.copy(llvm::ArrayRef<float>(min));
  quantization.max = model.copy(llvm::ArrayRef<float>(max));
  return keep({plain.type, model.create(quantization), plain.parents});
}

const Storage *Storages::ofBlocks(const Value &weights, const Scheme::Choice &choice) {
  int32_t axis = weights.rank() - 1, size = choice.blockSize;
  const std::vector<Extremes> ranges = clippedExtremesOf(weights, axis, choice.weights, choice.clip, size);
  const bool hasFloor = reachesFloor(ranges);
  std::vector<float> scales;
  for (const Extremes &range : ranges)
    scales.push_back(blockScale(weightParameters(range, choice.weights, scheme.dialect, hasFloor).scale));
  Quantization quantization;
  quantization.scale = model.copy(llvm::ArrayRef<float>(scales));
  quantization.details = Quantization::Details::Blockwise;
  quantization.more.make().blockSize = size;
  quantization.more.make().rawScales = quantization.more.make().rawZeroPoints = -1;
  return keep({choice.weights, model.create(quantization), {}});
}

const Storage *Storages::ofWeights(const Operator &op, const Weights &weights, const Scheme::Choice &choice,
                                   const StoragePlan::Decision &decision) {
  const Value &w = *op.operand(weights.operand);
  if (const Storage *own = carried(w))
    return own;
  if (hasOwnScales(w)) {
    return keep({choice.weights, w.quantization});
  }
  if (isByBlock(op, choice))
    return ofBlocks(w, choice);
  int biasAt = biasOf(op.code);
  bool isMatrix = op.code == Op::FULLY_CONNECTED || biasAt < 0; // or a table of rows
  bool byChannel = choice.perChannel && (choice.perChannelDense || !isMatrix);
  int32_t axis = byChannel ? weights.axis : -1;
  const std::vector<Extremes> ranges =
      choice.clip != WeightClip::None ? clippedExtremesOf(w, axis, choice.weights, choice.clip) : extremesOf(w, axis);
  const bool hasFloor = reachesFloor(ranges);
  llvm::SmallVector<Parameters> parameters;
  for (const Extremes &range : ranges)
    parameters.push_back(choice.asymmetricWeights ? asymmetricWeights(range, choice.weights)
                                                  : weightParameters(range, choice.weights, scheme.dialect, hasFloor));
  if (const Adapted *adapted = scheme.adaptedOf(op); adapted && adapted->scales.size() == parameters.size())
    for (auto [one, scale] : llvm::zip_equal(parameters, adapted->scales))
      one.scale = scale;
  // The bias has to fit into 32 bits with the scale of input times weights. Of those of 64, kernels multiply 48, by no
  // factor below 2^-32: what is half a step of the result, in 16 bits, may not need one.
  const Value *bias = biasAt >= 0 ? op.operand(static_cast<unsigned>(biasAt)) : nullptr;
  const Storage *input = decision.operands[inputOf(op)];
  llvm::SmallVector<Value *, 1> parents;
  if (scheme.dialect == Dialect::Tflite && input && isDense(bias) && isReal(bias) &&
      (parameters.size() == bias->elementCount() || parameters.size() == 1)) {
    std::vector<float> numbers(*bias->elementCount());
    bias->payload().read(0, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * sizeof(float)});
    double in = input->quantization->scale[0], most = choice.bias == TensorType::INT32 ? 2147483647. : 0x1p32;
    for (auto [i, number] : llvm::enumerate(numbers))
      if (Parameters &one = parameters[parameters.size() == 1 ? 0 : i];
          std::fabs(number) >= 0.5 * in * one.scale * most) {
        one.scale = static_cast<float>(2 * std::fabs(number) / (most * in));
        parents.assign(1, const_cast<Value *>(bias));
      }
  }
  const Storage *made = make(choice.weights, parameters, parameters.size() == 1 ? 0 : weights.axis, {}, parents);
  return choice.mode == Scheme::Mode::RoundedWeights ? withReach(*made) : made;
}

const Storage *Storages::ofBias(const Operator &op, unsigned position, const Weights &weights,
                                const Scheme::Choice &choice, const StoragePlan::Decision &decision) {
  const Storage *input = decision.operands[inputOf(op)];
  const Storage *w = decision.operands[weights.operand];
  const Value *bias = op.operand(position); // null: it is added, and fits
  if (!input || !w ||
      (bias && (bias->shape.empty() || (w->quantization->scale.size() > 1 &&
                                        static_cast<int32_t>(w->quantization->scale.size()) != bias->shape.back()))))
    return nullptr;
  llvm::SmallVector<Parameters> parameters;
  for (float scale : w->quantization->scale)
    parameters.push_back({input->quantization->scale[0] * scale, 0});
  for (Parameters &one : parameters) // no number is so small that it would have to be told from 0
    one.scale = std::max(one.scale, std::numeric_limits<float>::min());
  llvm::SmallVector<Value *, 2> parents(w->parents.begin(), w->parents.end());
  parents.push_back(op.operand(weights.operand));
  llvm::erase(parents, bias);
  return make(choice.bias, parameters, bias ? bias->rank() - 1 : 0, {}, parents);
}

/// Each number is a channel of its own, and exact: 1 times its magnitude, or −1 times it.
const Storage *Storages::ofExactChannels(const Value &constant, TensorType type) {
  uint64_t count = *constant.elementCount();
  std::vector<float> numbers(count);
  constant.payload().read(0, {reinterpret_cast<uint8_t *>(numbers.data()), count * sizeof(float)});
  llvm::SmallVector<Parameters> parameters;
  for (float x : numbers)
    parameters.push_back({x == 0 ? 1 : std::fabs(x), type == TensorType::UINT8 && x < 0 ? 1 : 0});
  int32_t axis = 0;
  for (int32_t d = 0; d < constant.rank(); ++d)
    if (constant.shape[d] != 1)
      axis = d;
  return make(type, parameters, parameters.size() == 1 ? 0 : axis);
}

const Storage *Storages::ofConstant(const Operator &op, unsigned position, const Scheme::Choice &choice) {
  const Value &constant = *op.operand(position);
  if (const Storage *own = carried(constant); own && own->quantization->scale.size() == 1)
    return own;
  bool perElement = (op.code == Op::PRELU && position == 1) || (op.code == Op::INSTANCE_NORM && position > 0) ||
                    (op.code == Op::RMS_NORM && position == 1);
  bool isRow = llvm::count_if(constant.shape, [](int32_t size) { return size != 1; }) <= 1;
  if (scheme.dialect == Dialect::One && choice.perChannel && perElement && isRow)
    return ofExactChannels(constant, choice.activations);
  Extremes range = extremesOf(constant, -1).front();
  return std::isfinite(range.min) && std::isfinite(range.max)
             ? make(choice.activations, activationParameters(range, choice.activations, scheme.dialect), 0)
             : nullptr;
}

const Storage *Storages::ofResult(const Operator &op, unsigned i, Scaling scaling, const Scheme::Choice &choice,
                                  const StoragePlan::Decision &decision) {
  TensorType type = choice.activations;
  const Value &result = *op.result(i);
  if (scaling == Scaling::AsInput)
    for (const Storage *operand : decision.operands)
      if (operand)
        return operand;
  const Storage *own = ofTensor(result, type);
  if (scaling == Scaling::Whole && own) {
    Parameters whole{std::max(1.f, std::round(own->quantization->scale[0])), own->quantization->zeroPoint[0]};
    own = make(type, whole, 0);
  }
  return own;
}

} // namespace origo::quantize
