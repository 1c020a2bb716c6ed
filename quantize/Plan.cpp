#include "quantize/Plan.h"

#include "eval/Dense.h"
#include "eval/Kernels.h"
#include "ir/DetachedOperator.h"
#include "ir/shapes/Inference.h"
#include "quantize/Corrections.h"
#include "quantize/Parameters.h"
#include "quantize/Recurrent.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

namespace origo::quantize {

using Op = BuiltinOperator;

namespace {

bool isReal(const Value *value) { return value && value->type == TensorType::FLOAT32; }

std::optional<Extremes> recordedRange(const Value &value) {
  const Quantization *q = value.quantization;
  if (!q || q->min.size() != 1 || q->max.size() != 1 || !(q->min[0] <= q->max[0]) || !std::isfinite(q->min[0]) ||
      !std::isfinite(q->max[0]))
    return std::nullopt;
  return Extremes{q->min[0], q->max[0]};
}

struct Plan {
  StoragePlan storage;
  std::vector<Unquantized> unquantized;
};

class Planner {
public:
  Planner(Model &model, const Scheme &scheme) : model(model), scheme(scheme) {}
  llvm::Expected<Plan> plan();

private:
  using Decision = StoragePlan::Decision;
  using Choice = Scheme::Choice;
  Model &model;
  const Scheme &scheme;
  Plan made;
  /// How a tensor that is no constant is stored in a type, for all who find or leave it so.
  llvm::DenseMap<std::pair<const Value *, unsigned>, const Storage *> canonical;
  llvm::DenseMap<const Operator *, const Choice *> choices; ///< of those that are quantised
  /// Read once for all uses; by axis.
  llvm::DenseMap<std::pair<const Value *, int32_t>, std::vector<Extremes>> extremes;

  const Choice &choiceOf(const Operator &op) const {
    auto own = op.result() ? scheme.layers.find(op.result()->name) : scheme.layers.end();
    return own == scheme.layers.end() ? scheme.common : own->second;
  }
  Scaling scalingOf(const Operator &op) const {
    if (op.code == Op::MAX_POOL_2D && scheme.poolKeepsScale)
      return Scaling::AsInput;
    const Constraint *row = constraintOf(op.code);
    return row ? row->scaling(scheme.dialect) : Scaling::Real;
  }

  const Storage *keep(Storage storage) { return &made.storage.storages.emplace_back(std::move(storage)); }
  const Storage *storage(TensorType type, llvm::ArrayRef<Parameters> parameters, int32_t axis, Extremes range = {},
                         llvm::ArrayRef<Value *> parents = {});
  const Storage *ofRange(TensorType type, Extremes range) {
    return storage(type, activationParameters(range, type, scheme.dialect), 0, range);
  }
  const Storage *withReach(const Storage &plain);
  const Storage *ofTensor(const Value &value, TensorType type);
  const std::vector<Extremes> &extremesOfConstant(const Value &constant, int32_t axis);
  const Storage *ofWeights(const Operator &op, const Weights &weights, const Choice &choice, const Decision &decision);
  const Storage *ofBias(const Operator &op, unsigned position, const Weights &weights, const Choice &choice,
                        const Decision &decision);
  const Storage *ofConstant(const Operator &op, unsigned position, const Choice &choice);
  const Storage *ofExactChannels(const Value &constant, TensorType type);

  std::string decide(Operator &op);
  std::string decideFull(Operator &op, const Choice &choice, Decision &decision);
  std::string decideRecurrent(const Operator &op, const Choice &choice, Decision &decision);
  std::string decideWeights(Operator &op, const Choice &choice, Decision &decision);
  void correct(const Operator &op, const Weights &weights, const Choice &choice, Decision &decision);
  std::string decideHalves(Operator &op, Decision &decision);
  std::string decideOtherwise(Operator &op, Decision &decision);
  const Storage *otherwise(const Value *value);
  bool storesAnew() const { return scheme.common.mode == Scheme::Mode::Unsigned || scheme.common.mode == Scheme::Mode::Fake; }
  const Storage *ofResult(const Operator &op, unsigned i, Scaling scaling, const Choice &choice,
                          const Decision &decision);
  std::string unsupported(const Operator &op, const Decision &decision) const;
  void shareScales();
  void pushScale(Value &value, const Storage *scale);
  void decideInterface();
};

const Storage *Planner::storage(TensorType type, llvm::ArrayRef<Parameters> parameters, int32_t axis, Extremes range,
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

/// Null: there is no range.
const Storage *Planner::ofTensor(const Value &value, TensorType type) {
  const Storage *&known = canonical[{&value, static_cast<unsigned>(type)}];
  if (known)
    return known;
  // What has its scale given has it in every type.
  if (const Operator *op = value.producer(); op && scalingOf(*op) == Scaling::Fixed)
    if (auto fixed = fixedScale(op->code, type, scheme.dialect))
      return known = storage(type, Parameters{static_cast<float>(fixed->scale), fixed->zeroPoint}, 0);
  auto range = recordedRange(value);
  return known = range ? ofRange(type, *range) : nullptr;
}

const std::vector<Extremes> &Planner::extremesOfConstant(const Value &constant, int32_t axis) {
  std::vector<Extremes> &known = extremes[{&constant, axis}];
  if (known.empty())
    known = extremesOf(constant, axis);
  return known;
}

/// Weights that came with scales, from --quantize_dequantize_weights, keep them.
static bool hasOwnScales(const Value &constant) {
  const Quantization *q = constant.quantization;
  return q && !q->scale.empty() && q->details == Quantization::Details::None && q->zeroPoint.size() == q->scale.size();
}

/// With what its integers reach as the range: (lowest − zero point) · scale, and the highest likewise.
const Storage *Planner::withReach(const Storage &plain) {
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

const Storage *Planner::ofWeights(const Operator &op, const Weights &weights, const Choice &choice,
                                  const Decision &decision) {
  const Value &w = *op.operand(weights.operand);
  if (hasOwnScales(w)) {
    return keep({choice.weights, w.quantization});
  }
  bool byChannel = choice.perChannel && (choice.perChannelDense || op.code != Op::FULLY_CONNECTED);
  int32_t axis = byChannel ? weights.axis : -1;
  const std::vector<Extremes> ranges =
      choice.clipsWeights ? clippedExtremesOf(w, axis, choice.weights) : extremesOfConstant(w, axis);
  llvm::SmallVector<Parameters> parameters;
  for (const Extremes &range : ranges)
    parameters.push_back(weightParameters(range, choice.weights, scheme.dialect));
  // The bias has to fit into 32 bits with the scale of input times weights.
  const Constraint &row = *constraintOf(op.code);
  const Value *bias = op.operand(static_cast<unsigned>(row.bias));
  const Storage *input = decision.operands[op.code == Op::TRANSPOSE_CONV ? 2 : 0];
  llvm::SmallVector<Value *, 1> parents;
  if (scheme.dialect == Dialect::Tflite && choice.bias == TensorType::INT32 && input && isDense(bias) &&
      isReal(bias) && parameters.size() == bias->elementCount()) {
    std::vector<float> numbers(parameters.size());
    bias->payload().read(0, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * sizeof(float)});
    double in = input->quantization->scale[0], most = 2147483647.;
    for (auto [number, one] : llvm::zip_equal(numbers, parameters))
      if (std::fabs(number) >= 0.5 * in * one.scale * most) {
        one.scale = static_cast<float>(2 * std::fabs(number) / (most * in));
        parents.assign(1, const_cast<Value *>(bias));
      }
  }
  const Storage *made = storage(choice.weights, parameters, parameters.size() == 1 ? 0 : weights.axis, {}, parents);
  return choice.mode == Scheme::Mode::RoundedWeights ? withReach(*made) : made;
}

const Storage *Planner::ofBias(const Operator &op, unsigned position, const Weights &weights, const Choice &choice,
                               const Decision &decision) {
  const Storage *input = decision.operands[op.code == Op::TRANSPOSE_CONV ? 2 : 0];
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
  return storage(choice.bias, parameters, bias ? bias->rank() - 1 : 0, {}, parents);
}

/// Each number is a channel of its own, and exact: 1 times its magnitude, or −1 times it.
const Storage *Planner::ofExactChannels(const Value &constant, TensorType type) {
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
  return storage(type, parameters, parameters.size() == 1 ? 0 : axis);
}

const Storage *Planner::ofConstant(const Operator &op, unsigned position, const Choice &choice) {
  const Value &constant = *op.operand(position);
  bool perElement = (op.code == Op::PRELU && position == 1) || (op.code == Op::INSTANCE_NORM && position > 0) ||
                    (op.code == Op::RMS_NORM && position == 1);
  bool isRow = llvm::count_if(constant.shape, [](int32_t size) { return size != 1; }) <= 1;
  if (scheme.dialect == Dialect::One && choice.perChannel && perElement && isRow)
    return ofExactChannels(constant, choice.activations);
  Extremes range = extremesOfConstant(constant, -1).front();
  return std::isfinite(range.min) && std::isfinite(range.max)
             ? storage(choice.activations, activationParameters(range, choice.activations, scheme.dialect), 0)
             : nullptr;
}

std::string nameOf(const Value *value) { return "\"" + printable(value->name) + "\""; }

const Storage *Planner::ofResult(const Operator &op, unsigned i, Scaling scaling, const Choice &choice,
                                 const Decision &decision) {
  TensorType type = choice.activations;
  const Value &result = *op.result(i);
  if (scaling == Scaling::AsInput)
    for (const Storage *operand : decision.operands)
      if (operand)
        return operand;
  const Storage *own = ofTensor(result, type);
  if (scaling == Scaling::Whole && own) {
    Parameters whole{std::max(1.f, std::round(own->quantization->scale[0])), own->quantization->zeroPoint[0]};
    own = storage(type, whole, 0);
  }
  return own;
}

/// Why kernels cannot compute with what the decision makes of the operator's tensors; empty: they can. ONE's runtimes
/// have other kernels than TensorFlow Lite's, which ours are.
std::string Planner::unsupported(const Operator &op, const Decision &decision) const {
  if (scheme.dialect == Dialect::One && !storesAnew())
    return {};
  DetachedOperator copy(op);
  auto store = [](Value *value, const Storage *storage) {
    if (!value || !storage)
      return;
    value->type = storage->type;
    value->quantization = storage->quantization;
  };
  for (auto [i, storage] : llvm::enumerate(decision.operands))
    store(copy.get().operand(i), storage);
  for (auto [i, storage] : llvm::enumerate(decision.results))
    store(copy.get().result(i), storage);
  if (auto results = inferResults(copy.get())) {
    for (auto [i, result] : llvm::enumerate(*results))
      if (i < op.results().size() && copy.get().result(i) && copy.get().result(i)->type != result.type)
        return "its results would have another type than its operands ask for";
  } else {
    llvm::consumeError(results.takeError());
  }
  bool known = eval::findKernel(copy.get()) != nullptr;
  if (storesAnew() && (scheme.common.mode == Scheme::Mode::Unsigned || !eval::findKernel(op)))
    return {}; // what has no kernel before need not have one then
  return known ? "" : "there is no kernel for " + eval::typesOf(copy.get());
}

/// What kernels ask of scales and zero points, and find out only when they run.
static std::string scaleRefusal(const Operator &op, const StoragePlan::Decision &decision) {
  auto scaleOf = [](const Storage *storage) { return storage->quantization->scale[0]; };
  auto reachesOne = [&](const Storage *storage) { return storage && scaleOf(storage) >= 1; };
  if (op.info()->has(Trait::Comparison) && llvm::any_of(decision.operands, reachesOne))
    return "a comparison of integers takes scales below 1";
  const Storage *x = decision.operands.empty() ? nullptr : decision.operands[0];
  if (op.code == Op::RSQRT && x->quantization->zeroPoint[0] != (x->type == TensorType::INT8 ? -128 : -32768))
    return "integers below zero, which its operand could be, are refused when it runs";
  auto factorIn = [](double factor, double least, double most) { return factor >= least && factor < most; };
  if (op.code == Op::RSQRT && x->type == TensorType::INT8 &&
      !factorIn(1 / (std::sqrt(double{scaleOf(x)}) * scaleOf(decision.results[0])), 0x1p-11, 0x1p49))
    return "its scales would be too far apart";
  if (op.code == Op::REDUCE_PROD) { // scaled after each factor
    double factors = static_cast<double>(op.operand(0)->elementCount().value_or(1)) /
                     static_cast<double>(std::max<uint64_t>(1, op.result()->elementCount().value_or(1)));
    if (!factorIn(scaleOf(x) / std::pow(double{scaleOf(decision.results[0])}, 1 / std::max(1., factors)), 0, 0x1p13))
      return "its scales would be too far apart";
  }
  if (op.code == Op::HARD_SWISH && scaleOf(x) / 128 >= scaleOf(decision.results[0]))
    return "its result's scale would be too small for the operand's";
  if (op.code == Op::SOFTMAX && x->type == TensorType::INT8) {
    const auto *options = op.options.as<circle::SoftmaxOptions>();
    if (!options || !(static_cast<double>(options->beta()) * scaleOf(x) * 0x1p26 > 1))
      return "beta times its operand's scale would be too small";
  }
  return {};
}

std::string Planner::decideFull(Operator &op, const Choice &choice, Decision &decision) {
  Scaling scaling = scalingOf(op);
  if (scaling == Scaling::Real)
    return "it has no form in integers";
  const Constraint &row = *constraintOf(op.code);
  if (scheme.dialect == Dialect::Tflite && choice.activations == TensorType::INT16 && !row.tflite16)
    return "it has no form in integers of 16 bits";
  if (!recurrentOperands(op.code).empty())
    return decideRecurrent(op, choice, decision);
  std::optional<Weights> weights = weightsOf(op);
  llvm::SmallVector<unsigned> order; // weights and bias follow from the others
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (isReal(op.operand(i)) && !(weights && (i == weights->operand || static_cast<int>(i) == row.bias)))
      order.push_back(i);
  if (weights) {
    order.push_back(weights->operand);
    if (isReal(op.operand(static_cast<unsigned>(row.bias))))
      order.push_back(static_cast<unsigned>(row.bias));
  } else if (row.bias >= 0 && op.operand(static_cast<unsigned>(row.bias))) {
    return "its weights are computed and it has a bias";
  }
  if (order.empty() && llvm::none_of(op.results(), isReal))
    return {};
  decision.operands.resize(op.numOperands());
  decision.results.resize(op.results().size());
  for (unsigned i : order) {
    const Value &value = *op.operand(i);
    if (value.isConstant() && (!isDense(&value) || !value.elementCount().value_or(0)))
      return nameOf(&value) + " is no dense constant";
    bool isBias = static_cast<int>(i) == row.bias;
    if (isBias && !value.isConstant())
      return "its bias is computed";
    const Storage *storage = weights && i == weights->operand ? ofWeights(op, *weights, choice, decision)
                             : isBias                         ? ofBias(op, i, *weights, choice, decision)
                             : value.isConstant()             ? ofConstant(op, i, choice)
                                                              : ofTensor(value, choice.activations);
    if (!storage)
      return value.isConstant() ? "constant " + nameOf(&value) + " holds an infinity, or has no channel for each scale"
                                : "tensor " + nameOf(&value) + " has no recorded range";
    if (llvm::any_of(storage->quantization->scale, [](float s) { return !std::isfinite(s) || s <= 0; }))
      return nameOf(&value) + " has a range that no scale can hold";
    decision.operands[i] = storage;
  }
  for (auto [i, result] : llvm::enumerate(op.results())) {
    if (!isReal(result))
      continue;
    decision.results[i] = ofResult(op, i, scaling, choice, decision);
    if (!decision.results[i])
      return "tensor " + nameOf(result) + " has no recorded range";
  }
  if (scheme.dialect == Dialect::Tflite)
    if (std::string why = scaleRefusal(op, decision); !why.empty())
      return why;
  if (scaling == Scaling::Shared)
    for (unsigned i : order)
      decision.operands[i] = decision.results[0];
  if (weights)
    correct(op, *weights, choice, decision);
  return unsupported(op, decision);
}

std::string Planner::decideRecurrent(const Operator &op, const Choice &choice, Decision &decision) {
  using As = RecurrentOperand::As;
  if (choice.activations != TensorType::INT8 || choice.weights != TensorType::INT8)
    return "it has no form in integers but that of 8 bits";
  if (std::string why = recurrentRefusal(op); !why.empty())
    return why;
  decision.operands.resize(op.numOperands());
  decision.results.resize(op.results().size());
  const Storage *in = decision.operands[0] = ofTensor(*op.operand(0), TensorType::INT8);
  const Storage *out = decision.results[0] = ofTensor(*op.result(), TensorType::INT8);
  for (const Value *value : {in ? nullptr : op.operand(0), out ? nullptr : op.result()})
    if (value)
      return "tensor " + nameOf(value) + " has no recorded range";
  // What the kernel makes within has tensors that only carry scales. Sums are in 16 bits of a scale that it knows, unless
  // they are normalised; and without a projection, what that would read is the result.
  const Storage *beforeProjection = out;
  if (op.code == Op::UNIDIRECTIONAL_SEQUENCE_LSTM) {
    decision.intermediates.assign(lstmIntermediates, nullptr);
    llvm::ArrayRef<Value *> within = op.intermediates();
    auto has = [&](unsigned i) { return i < op.numOperands() && op.operand(i); };
    for (unsigned i = 0; i < lstmIntermediates; ++i) {
      bool isHidden = i + 1 == lstmIntermediates;
      auto range = i < within.size() && within[i] ? recordedRange(*within[i]) : std::nullopt;
      if (!has(isHidden ? 16 : 20 + i)) {
        decision.intermediates[i] = isHidden ? out : nullptr;
      } else if (!range) {
        return isHidden ? "what its projection reads has no recorded range"
                        : "sums that it normalises have no recorded range";
      } else {
        decision.intermediates[i] = ofRange(isHidden ? TensorType::INT8 : TensorType::INT16, *range);
      }
    }
    beforeProjection = decision.intermediates.back();
  }
  for (const RecurrentOperand &one : recurrentOperands(op.code)) {
    Value *value = one.position < op.numOperands() ? op.operand(one.position) : nullptr;
    if (!value)
      continue;
    const Storage *&stored = decision.operands[one.position];
    bool isState = one.as == As::Result || one.as == As::State16 || one.as == As::Cell16;
    if (!isReal(value) || (isState ? !value->isVariable : !isDense(value) || !value->elementCount().value_or(0)))
      return nameOf(value) + (isState ? " is no variable of floats" : " is no dense constant of floats");
    if (one.as == As::Result) {
      stored = out;
    } else if (isState) {
      auto range = recordedRange(*value);
      if (!range)
        return "state " + nameOf(value) + " has no recorded range";
      auto scale = one.as == As::Cell16 ? cellScale(*range) : std::nullopt;
      if (one.as == As::Cell16 && !scale)
        return "its cells " + nameOf(value) + " go beyond 64";
      stored = scale ? storage(TensorType::INT16, Parameters{*scale, 0}, 0) : ofRange(TensorType::INT16, *range);
    } else if (one.as == As::Bias) {
      const Storage *a = one.factors[0] == hidden ? beforeProjection : decision.operands[one.factors[0]];
      unsigned weights = one.factors[1];
      bool normalized = one.norm && *one.norm < op.numOperands() && op.operand(*one.norm);
      if (normalized)
        weights = *one.norm;
      const Storage *b = decision.operands[weights];
      if (!a || !b)
        return nameOf(value) + " is added to what is absent";
      float scale = b->quantization->scale[0] * (normalized ? 0x1p-10f : a->quantization->scale[0]);
      scale = std::max(scale, std::numeric_limits<float>::min());
      Extremes range = extremesOfConstant(*value, -1).front();
      if (!(std::max(-range.min, range.max) < scale * 2147483647.f))
        return nameOf(value) + " is too large for the scales of what it is added to";
      stored = storage(TensorType::INT32, Parameters{scale, 0}, 0, {}, op.operand(weights));
    } else {
      TensorType type = one.as == As::Weights ? TensorType::INT8 : TensorType::INT16;
      Extremes range = extremesOfConstant(*value, -1).front();
      stored = storage(type, weightParameters(range, type, scheme.dialect), 0);
    }
    if (!std::isfinite(stored->quantization->scale[0]) || stored->quantization->scale[0] <= 0)
      return nameOf(value) + " has a range that no scale can hold";
  }
  return unsupported(op, decision);
}

/// What records tell to add to weights and bias.
void Planner::correct(const Operator &op, const Weights &weights, const Choice &choice, Decision &decision) {
  if (!scheme.moments)
    return;
  auto inputs = scheme.moments->find(&op);
  const Storage *stored = decision.operands[weights.operand];
  if (inputs == scheme.moments->end() || hasOwnScales(*op.operand(weights.operand)) || stored->type == TensorType::UINT8)
    return;
  auto bias = static_cast<unsigned>(constraintOf(op.code)->bias);
  std::optional<Summand> rounding;
  if (choice.choosesRounding)
    if (rounding = chosenRounding(op, *stored, inputs->second); rounding)
      decision.summands.emplace_back(weights.operand, *rounding);
  const Value *constant = op.operand(bias);
  if (!choice.correctsBias || (constant && !(isReal(constant) && isDense(constant))))
    return;
  auto shift = biasCorrection(op, bias, *stored, rounding ? &*rounding : nullptr, inputs->second);
  if (!shift)
    return;
  decision.summands.emplace_back(bias, *shift);
  if (constant)
    return;
  decision.operands.resize(std::max<size_t>(decision.operands.size(), bias + 1));
  if (choice.mode == Scheme::Mode::Full)
    decision.operands[bias] = ofBias(op, bias, weights, choice, decision);
}

std::string Planner::decideWeights(Operator &op, const Choice &choice, Decision &decision) {
  std::optional<Weights> weights = weightsOf(op);
  if (!weights || !isReal(op.operand(weights->operand)))
    return {};
  const Value &w = *op.operand(weights->operand);
  if (!isDense(&w))
    return nameOf(&w) + " is no dense constant";
  if (w.elementCount().value_or(0) < std::max<uint64_t>(choice.leastElements, 1) || hasOwnScales(w))
    return {};
  decision.operands.resize(op.numOperands());
  decision.operands[weights->operand] = ofWeights(op, *weights, choice, decision);
  if (llvm::any_of(decision.operands[weights->operand]->quantization->scale,
                   [](float s) { return !std::isfinite(s); }))
    return nameOf(&w) + " holds an infinity";
  correct(op, *weights, choice, decision);
  if (choice.mode == Scheme::Mode::Weights)
    return unsupported(op, decision);
  bool widens = choice.mode == Scheme::Mode::WidenedWeights;
  decision.constants = widens ? StoragePlan::Constants::Widened : StoragePlan::Constants::Rounded;
  return {};
}

std::string Planner::decideHalves(Operator &op, Decision &decision) {
  const Constraint *row = constraintOf(op.code);
  std::optional<Weights> weights = weightsOf(op);
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    bool big = isReal(value) && isDense(value) && value->elementCount().value_or(0) >= 1024;
    bool own = weights && isReal(value) && isDense(value) &&
               (i == weights->operand || static_cast<int>(i) == row->bias);
    if (!big && !own)
      continue;
    Extremes range = extremesOfConstant(*value, -1).front();
    if (range.min < -65504 || range.max > 65504)
      return nameOf(value) + " has numbers beyond those of float16";
    decision.operands.resize(op.numOperands());
    decision.operands[i] = keep({TensorType::FLOAT16, nullptr});
    decision.constants = StoragePlan::Constants::Widened;
  }
  return {};
}

/// How integers with scales are to be stored where they have them already; null: as they are.
const Storage *Planner::otherwise(const Value *value) {
  const Quantization *q = value ? value->quantization : nullptr;
  if (!q || q->scale.empty() || q->details != Quantization::Details::None || value->type == TensorType::FLOAT32 ||
      value->type == TensorType::FLOAT16)
    return nullptr;
  if (scheme.common.mode == Scheme::Mode::Fake)
    return keep({TensorType::FLOAT32, nullptr});
  if (value->type != TensorType::INT8)
    return nullptr;
  llvm::SmallVector<Parameters> parameters;
  for (auto [i, scale] : llvm::enumerate(q->scale))
    parameters.push_back({scale, (i < q->zeroPoint.size() ? q->zeroPoint[i] : 0) + 128});
  return storage(TensorType::UINT8, parameters, value->rank() == 1 ? 0 : q->dimension);
}

/// ONE's two ways to store what is quantised already otherwise.
std::string Planner::decideOtherwise(Operator &op, Decision &decision) {
  if (scheme.common.mode == Scheme::Mode::Fake && (op.code == Op::QUANTIZE || op.code == Op::DEQUANTIZE))
    return {};
  if (op.info() && op.info()->has(Trait::HoldsSubgraphs))
    return "the subgraphs that it calls take its operands as they are";
  decision.operands.resize(op.numOperands());
  decision.results.resize(op.results().size());
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Storage *storage = otherwise(op.operand(i))) {
      if (op.operand(i)->isConstant() && !isDense(op.operand(i)))
        return nameOf(op.operand(i)) + " is no dense constant";
      decision.operands[i] = storage;
    }
  for (auto [i, result] : llvm::enumerate(op.results()))
    decision.results[i] = otherwise(result);
  auto stored = [](const Storage *storage) { return storage != nullptr; };
  if (op.effects() != 0 && (llvm::any_of(decision.operands, stored) || llvm::any_of(decision.results, stored)))
    return "it has effects";
  return unsupported(op, decision);
}

std::string Planner::decide(Operator &op) {
  const Choice &choice = choiceOf(op);
  Decision decision;
  bool stores = storesAnew();
  bool anyReal = stores || llvm::any_of(op.operands(), [](const Use &use) { return isReal(use.get()); }) ||
                 llvm::any_of(op.results(), isReal);
  if (!anyReal || (!stores && (op.code == Op::QUANTIZE || op.code == Op::DEQUANTIZE)))
    return {};
  std::string why = !choice.quantize                       ? "that is what was asked for"
                    : stores                               ? decideOtherwise(op, decision)
                    : op.effects() != 0 && (choice.mode != Scheme::Mode::Full || recurrentOperands(op.code).empty())
                        ? "it has effects"
                    : choice.mode == Scheme::Mode::Full    ? decideFull(op, choice, decision)
                    : choice.mode == Scheme::Mode::Float16 ? decideHalves(op, decision)
                                                           : decideWeights(op, choice, decision);
  auto decides = [](const Storage *storage) { return storage != nullptr; };
  if (!why.empty() || (llvm::none_of(decision.operands, decides) && llvm::none_of(decision.results, decides)))
    return why;
  for (auto [i, storage] : llvm::enumerate(decision.results))
    if (storage)
      canonical[{op.result(i), static_cast<unsigned>(storage->type)}] = storage;
  made.storage.operators[&op] = std::move(decision);
  choices[&op] = &choice;
  return {};
}

/// What a shared scale asks of who computes the operands: they have it too, if nobody else uses them.
void Planner::pushScale(Value &value, const Storage *scale) {
  unsigned type = static_cast<unsigned>(scale->type);
  if (!value.hasOneUse() && !(value.isGraphInput && value.useCount() == 1))
    return;
  Operator *op = value.producer();
  if (!op) {
    if (value.isGraphInput)
      canonical[{&value, type}] = scale;
    return;
  }
  auto found = made.storage.operators.find(op);
  if (found == made.storage.operators.end() || choices.lookup(op)->activations != scale->type)
    return;
  Decision &decision = found->second;
  Scaling scaling = scalingOf(*op);
  if (scaling == Scaling::Fixed || scaling == Scaling::Whole || op->results().size() != 1)
    return;
  decision.results[0] = scale;
  canonical[{&value, type}] = scale;
  if (scaling != Scaling::AsInput)
    return; // of a shared one, operands have their turn later
  for (auto [i, operand] : llvm::enumerate(decision.operands))
    if (operand) {
      operand = scale;
      if (!op->operand(i)->isConstant())
        pushScale(*op->operand(i), scale);
      return;
    }
}

void Planner::shareScales() {
  for (auto &graph : model.subgraphs)
    for (Operator &op : llvm::reverse(graph->operators)) {
      auto found = made.storage.operators.find(&op);
      if (found == made.storage.operators.end() || choices.lookup(&op)->mode != Scheme::Mode::Full ||
          scalingOf(op) != Scaling::Shared || found->second.results.empty())
        continue;
      const Storage *scale = found->second.results[0];
      for (auto [i, operand] : llvm::enumerate(found->second.operands))
        if (operand) {
          operand = scale;
          if (!op.operand(i)->isConstant())
            pushScale(*op.operand(i), scale);
        }
    }
}

void Planner::decideInterface() {
  Subgraph &graph = *model.subgraphs.front();
  if (storesAnew()) {
    llvm::SmallPtrSet<const Value *, 4> seen;
    for (auto *list : {&graph.inputs, &graph.outputs})
      for (Value *value : *list)
        if (const Storage *storage = otherwise(value); storage && seen.insert(value).second)
          made.storage.interface.push_back({value, storage});
    return;
  }
  auto decideAll = [&](llvm::ArrayRef<Value *> values, llvm::ArrayRef<TensorType> types) {
    llvm::SmallPtrSet<const Value *, 4> seen;
    unsigned reals = 0;
    for (Value *value : values) {
      if (!isReal(value) || types.empty())
        continue;
      TensorType type = types[std::min<size_t>(reals++, types.size() - 1)];
      if (type == TensorType::FLOAT32 || !seen.insert(value).second)
        continue;
      if (const Storage *storage = ofTensor(*value, type))
        made.storage.interface.push_back({value, storage});
    }
  };
  decideAll(graph.inputs, scheme.inputs);
  decideAll(graph.outputs, scheme.outputs);
}

llvm::Expected<Plan> Planner::plan() {
  model.number();
  llvm::StringMap<bool> met;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      if (op.result() && scheme.layers.contains(op.result()->name))
        met[op.result()->name] = true;
  for (const auto &layer : scheme.layers)
    if (!met.contains(layer.first()))
      return makeError("no operator has the first result \"" + printable(layer.first()) + "\"");
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      if (std::string why = decide(op); !why.empty())
        made.unquantized.push_back({&op, op.opName(), op.result() ? op.result()->name.str() : "", std::move(why)});
  shareScales();
  if (scheme.needsRanges() || storesAnew())
    decideInterface();
  return std::move(made);
}

} // namespace

static bool anyChoice(const Scheme &scheme, llvm::function_ref<bool(const Scheme::Choice &)> holds) {
  auto quantizes = [&](const Scheme::Choice &choice) { return choice.quantize && holds(choice); };
  return quantizes(scheme.common) || llvm::any_of(scheme.layers, [&](const auto &layer) { return quantizes(layer.second); });
}

bool Scheme::needsRanges() const {
  return anyChoice(*this, [](const Choice &choice) { return choice.mode == Mode::Full; });
}
bool Scheme::needsProducts() const {
  return anyChoice(*this, [](const Choice &choice) { return choice.choosesRounding; });
}
bool Scheme::needsMoments() const {
  return needsProducts() || anyChoice(*this, [](const Choice &choice) { return choice.correctsBias; });
}

std::function<llvm::Expected<StoragePlan>(Model &)> planBy(Scheme scheme, std::vector<Unquantized> *unquantized) {
  return [scheme = std::move(scheme), unquantized](Model &model) -> llvm::Expected<StoragePlan> {
    auto plan = Planner(model, scheme).plan();
    if (!plan)
      return plan.takeError();
    if (unquantized)
      *unquantized = std::move(plan->unquantized);
    return std::move(plan->storage);
  };
}

} // namespace origo::quantize
