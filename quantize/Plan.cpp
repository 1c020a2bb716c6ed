#include "quantize/Plan.h"

#include "eval/Dense.h"
#include "eval/Kernels.h"
#include "ir/Activation.h"
#include "ir/DetachedOperator.h"
#include "ir/shapes/Inference.h"
#include "quantize/Blocks.h"
#include "quantize/Corrections.h"
#include "quantize/Ends.h"
#include "quantize/Parameters.h"
#include "quantize/Ranges.h"
#include "quantize/Recurrent.h"
#include "quantize/Storages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>
#include <map>

namespace origo::quantize {

using Op = BuiltinOperator;

namespace {

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
  Storages storages{model, scheme, made.storage.storages};
  llvm::DenseMap<const Operator *, const Choice *> choices; ///< of those that are quantised

  std::deque<Choice> carriedChoices;

  const Choice &choiceOf(const Operator &op) {
    const Choice &asked = scheme.of(op);
    return scheme.carried && asked.mode == Scheme::Mode::Full ? carriedChoice(op, asked) : asked;
  }
  const Choice &carriedChoice(const Operator &op, const Choice &asked);
  std::string withoutCarried(const Operator &op, const std::optional<Weights> &weights, Scaling scaling) const;

  llvm::DenseSet<const Value *> fixed; ///< results that no record shows
  std::string withoutRange(const Value &value) const;
  std::string decide(Operator &op);
  std::string decideFull(Operator &op, const Choice &choice, Decision &decision);
  const Storage *ofScattered(const Operator &op, const Choice &choice);
  std::string decideRecurrent(const Operator &op, const Choice &choice, Decision &decision);
  std::string decideWeights(Operator &op, const Choice &choice, Decision &decision);
  void bringTogether(const Operator &op, Decision &decision);
  void addZeroBias(const Operator &op, const Weights &weights, const Choice &choice, Decision &decision);
  void correct(const Operator &op, const Weights &weights, const Choice &choice, Decision &decision);
  std::string decideHalves(Operator &op, Decision &decision);
  std::string decideOtherwise(Operator &op, Decision &decision);
  const Storage *otherwise(const Value *value);
  bool storesAnew() const {
    return scheme.common.mode == Scheme::Mode::Unsigned || scheme.common.mode == Scheme::Mode::Signed ||
           scheme.common.mode == Scheme::Mode::Fake;
  }
  std::string decideSigned(const Operator &op, Decision &decision);
  std::string unsupported(const Operator &op, const Decision &decision) const;
  void shareScales();
  void pushScale(Value &value, const Storage *scale);
  void decideInterface();
  void decideInterface(Subgraph &graph);
};

std::string nameOf(const Value *value) { return "\"" + printable(value->name) + "\""; }

/// Does each number of a constant lie within what the integers reach?
bool holds(const Storage &storage, const Value &constant) {
  llvm::ArrayRef<float> scales = storage.quantization->scale;
  std::vector<float> numbers(constant.payload().size() / sizeof(float));
  constant.payload().read(0, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * sizeof(float)});
  for (auto [i, number] : llvm::enumerate(numbers))
    if (double scale = scales[scales.size() == 1 ? 0 : i % scales.size()]; !(std::fabs(number) <= scale * 2147483647.))
      return false;
  return true;
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
  std::string misfit;
  if (auto results = inferResults(copy.get())) {
    for (auto [i, result] : llvm::enumerate(*results))
      if (i < op.results().size() && copy.get().result(i) && copy.get().result(i)->type != result.type)
        return "its results would have another type than its operands ask for";
  } else {
    misfit = "its operands would not fit: " + llvm::toString(results.takeError());
  }
  bool known = eval::findKernel(copy.get()) != nullptr;
  if (storesAnew() && (scheme.common.mode == Scheme::Mode::Unsigned || !eval::findKernel(op)))
    return misfit; // what has no kernel before need not have one then
  return known ? "" : "there is no kernel for " + eval::typesOf(copy.get());
}

/// Of the types that the model says.
const Planner::Choice &Planner::carriedChoice(const Operator &op, const Choice &asked) {
  auto typeOf = [&](const Value *value) {
    const Storage *own = value ? scheme.carried->of(*value) : nullptr;
    return own ? std::optional(own->type) : std::nullopt;
  };
  std::optional<TensorType> activations, weights;
  auto constant = weightsOf(op);
  if (constant)
    weights = typeOf(op.operand(constant->operand));
  for (const Value *result : op.results())
    activations = activations ? activations : typeOf(result);
  for (unsigned i = 0; i < op.numOperands() && !activations; ++i)
    if (const Value *operand = op.operand(i); operand && !operand->isConstant())
      activations = typeOf(operand);
  if (!activations && !weights)
    return asked;
  Choice &own = carriedChoices.emplace_back(asked);
  own.activations = activations.value_or(asked.activations);
  own.weights = weights.value_or(asked.weights);
  own.bias = own.activations == TensorType::INT16 ? TensorType::INT64 : TensorType::INT32;
  return own;
}

/// Why what the model says is not enough, where nobody else says anything, or is nothing that kernels have; empty:
/// neither.
std::string Planner::withoutCarried(const Operator &op, const std::optional<Weights> &weights, Scaling scaling) const {
  const CarriedScales &carried = *scheme.carried;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    bool isBias = weights && static_cast<int>(i) == biasOf(op.code);
    if (!isReal(value) || isBias)
      continue;
    const Storage *own = carried.of(*value);
    if (!value->isConstant()) {
      if (const Operator *maker = value->producer(); weights && i == weights->operand && maker)
        return "its weights " + nameOf(value) + " are computed by " + maker->opName();
      continue;
    }
    if (!own && carried.alone) {
      Extremes range = extremesOf(*value, -1).front();
      if ((weights && i == weights->operand) || range.min != range.max)
        return "constant " + nameOf(value) + " has no scales in the model";
    }
    if (own && !(weights && i == weights->operand) && own->quantization->scale.size() > 1)
      return "constant " + nameOf(value) + " has a scale for each channel, which kernels take for weights only";
    if (!own || !weights || i != weights->operand)
      continue;
    const Quantization &q = *own->quantization;
    if (q.scale.size() > 1 && q.dimension != weights->axis)
      return "its weights have scales along axis " + std::to_string(q.dimension) +
             ", and kernels take them along axis " + std::to_string(weights->axis);
    if (llvm::any_of(q.zeroPoint, [](int64_t zero) { return zero != 0; }))
      return "its weights have a zero point, which kernels of TensorFlow Lite do not take";
  }
  // What kernels average in the steps of the operand would be rounded to those first.
  bool averages = op.code == Op::AVERAGE_POOL_2D || op.code == Op::RESIZE_BILINEAR;
  if (scaling == Scaling::AsInput && averages) {
    const Storage *in = carried.of(*op.operand(0)), *out = carried.of(*op.result());
    if (in && out && in->quantization->scale[0] > out->quantization->scale[0] * 1.0001f)
      return "its result has finer steps than its operand, which kernels do not have";
  }
  return {};
}

std::string Planner::withoutRange(const Value &value) const {
  if (scheme.carried && scheme.carried->alone) {
    auto why = scheme.carried->why.find(&value);
    return "tensor " + nameOf(&value) +
           (why != scheme.carried->why.end() ? std::string(" ") + why->second
                                             : std::string(" is not rounded in the model, so that no scale is known"));
  }
  return "tensor " + nameOf(&value) +
         (fixed.contains(&value) ? " follows from constants, and has no range before circle2circle -O1 has folded it"
                                 : " has no recorded range");
}

std::string Planner::decideFull(Operator &op, const Choice &choice, Decision &decision) {
  Scaling scaling = scalingOf(op, scheme);
  if (scaling == Scaling::Real)
    return "it has no form in integers";
  int bias = biasOf(op.code);
  if (scheme.dialect == Dialect::Tflite && choice.activations == TensorType::INT16 && !factsOf(op.code).tflite16)
    return "it has no form in integers of 16 bits";
  if (!recurrentOperands(op.code).empty())
    return decideRecurrent(op, choice, decision);
  std::optional<Weights> weights = weightsOf(op);
  llvm::SmallVector<unsigned> order; // weights and bias follow from the others
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (isReal(op.operand(i)) && !(weights && (i == weights->operand || static_cast<int>(i) == bias)))
      order.push_back(i);
  if (weights) {
    order.push_back(weights->operand);
    if (isReal(op.operand(static_cast<unsigned>(bias))))
      order.push_back(static_cast<unsigned>(bias));
  } else if (bias >= 0 && op.operand(static_cast<unsigned>(bias))) {
    return "its weights are computed and it has a bias";
  }
  if (order.empty() && llvm::none_of(op.results(), isReal))
    return {};
  if (scheme.carried)
    if (std::string why = withoutCarried(op, weights, scaling); !why.empty())
      return why;
  if (weights && !isReal(op.operand(weights->operand)) && !hasOwnScales(*op.operand(weights->operand)))
    return nameOf(op.operand(weights->operand)) + " holds integers without scales";
  decision.operands.resize(op.numOperands());
  decision.results.resize(op.results().size());
  bool scatters = op.code == Op::SCATTER_ND && scheme.dialect == Dialect::Tflite;
  for (unsigned i : order) {
    const Value &value = *op.operand(i);
    if (value.isConstant() && (!isDense(&value) || !value.elementCount().value_or(0)))
      return nameOf(&value) + " is no dense constant";
    bool isBias = static_cast<int>(i) == bias;
    if (isBias && !value.isConstant())
      return "its bias is computed";
    const Storage *storage = weights && i == weights->operand ? storages.ofWeights(op, *weights, choice, decision)
                             : isBias                         ? storages.ofBias(op, i, *weights, choice, decision)
                             : scatters                       ? ofScattered(op, choice)
                             : value.isConstant()             ? storages.ofConstant(op, i, choice)
                                                              : storages.ofTensor(value, choice.activations);
    if (!storage)
      return value.isConstant() ? "constant " + nameOf(&value) + " holds an infinity, or has no channel for each scale"
                                : withoutRange(value);
    if (llvm::any_of(storage->quantization->scale, [](float s) { return !std::isfinite(s) || s <= 0; }))
      return nameOf(&value) + " has a range that no scale can hold";
    if (isBias && storage->type == TensorType::INT32 && scheme.dialect == Dialect::Tflite && !holds(*storage, value))
      return "its bias does not fit into 32 bits with the scales of input and weights";
    decision.operands[i] = storage;
  }
  for (auto [i, result] : llvm::enumerate(op.results())) {
    if (!isReal(result))
      continue;
    decision.results[i] = storages.ofResult(op, i, scaling, choice, decision);
    if (!decision.results[i])
      return withoutRange(*result);
  }
  if (scheme.dialect == Dialect::Tflite) {
    bringTogether(op, decision);
    if (std::string why = scaleRefusal(op, decision); !why.empty())
      return why;
  }
  if (scaling == Scaling::Shared) {
    if (!decision.results[0])
      return "its operands are floats, and its result is none";
    for (unsigned i : order)
      decision.operands[i] = decision.results[0];
  }
  if (weights)
    correct(op, *weights, choice, decision);
  if (weights && scheme.dialect == Dialect::Tflite)
    addZeroBias(op, *weights, choice, decision);
  return unsupported(op, decision);
}

/// How often SCATTER_ND may write to one place; 0: it adds nothing up.
static unsigned writtenTwice(const Operator &op) {
  const Value &indices = *op.operand(0);
  uint64_t depth = indices.shape.empty() ? 1 : std::max(1, indices.shape.back());
  uint64_t rows = indices.elementCount().value_or(0) / depth;
  if (rows < 2)
    return 0;
  if (!isDense(&indices))
    return static_cast<unsigned>(std::min<uint64_t>(rows, 1000));
  std::vector<uint8_t> bytes(indices.payload().size());
  indices.payload().read(0, bytes);
  std::map<llvm::StringRef, unsigned> places;
  unsigned most = 0;
  uint64_t size = bytes.size() / rows;
  for (uint64_t row = 0; row < rows; ++row) {
    llvm::StringRef place(reinterpret_cast<const char *>(bytes.data()) + row * size, size);
    most = std::max(most, ++places[place]);
  }
  return most > 1 ? most : 0;
}

/// Places that nothing is written to hold the integer 0, and what is written twice adds up: the zero point is 0, and
/// the scale holds the sums.
const Storage *Planner::ofScattered(const Operator &op, const Choice &choice) {
  auto written = storages.rangeOf(*op.operand(1)), sums = op.result() ? storages.rangeOf(*op.result()) : std::nullopt;
  if (!written || !sums)
    return nullptr;
  // Where indices are computed, records tell whether two meet.
  bool addsUp = isDense(op.operand(0)) || sums->min < written->min || sums->max > written->max;
  written->join(*sums);
  // Integers that are added up have been rounded by half a step each, and what is beyond the last one wraps.
  double most = choice.activations == TensorType::INT16 ? 32767 : 127;
  auto wider = static_cast<float>(most / (most - (addsUp ? std::min(writtenTwice(op) / 2., most / 2) : 0)));
  written->min *= wider;
  written->max *= wider;
  return storages.aroundZero(choice.activations, *written);
}

/// Kernels that end their program where the result's scale is far below the operands' get another one: for an operand
/// that is always 0, of which any scale holds, else for the result, which is then still far finer than what it is made
/// of.
void Planner::bringTogether(const Operator &op, Decision &decision) {
  if (decision.results.empty() || !decision.results[0])
    return;
  const Storage *&result = decision.results[0];
  auto isLow = [&] { return result->quantization->scale[0] < leastResultScale(op, decision); };
  if (!isLow())
    return;
  for (unsigned i = 0; i < decision.operands.size() && op.code != Op::FULLY_CONNECTED; ++i)
    if (const Value *value = decision.operands[i] ? op.operand(i) : nullptr) {
      auto range = storages.rangeOf(*value);
      if (range && range->min == 0 && range->max == 0)
        decision.operands[i] = result;
    }
  if (isLow())
    result = storages.withScale(*result, std::nextafter(static_cast<float>(leastResultScale(op, decision)), 1e30f));
}

/// Without a bias runtimes add up in 32 bits, which so many products of 16 and 8 bits may not fit into; with one of 64
/// bits they add up in these.
void Planner::addZeroBias(const Operator &op, const Weights &weights, const Choice &choice, Decision &decision) {
  constexpr unsigned position = 2;
  if (op.code != Op::FULLY_CONNECTED || choice.bias != TensorType::INT64 || op.operand(position) ||
      (position < decision.operands.size() && decision.operands[position]))
    return;
  const Value &w = *op.operand(weights.operand);
  double greatest = 32768 * largestWeight(choice.weights) * static_cast<double>(w.shape.back());
  if (greatest < 0x1p31)
    return;
  std::string zeros(static_cast<size_t>(w.shape.front()) * sizeof(float), 0);
  decision.summands.emplace_back(position, Summand{Payload::owned(std::move(zeros))});
  decision.operands.resize(std::max<size_t>(decision.operands.size(), position + 1));
  decision.operands[position] = storages.ofBias(op, position, weights, choice, decision);
}

std::string Planner::decideRecurrent(const Operator &op, const Choice &choice, Decision &decision) {
  using As = RecurrentOperand::As;
  if (choice.activations != TensorType::INT8 || choice.weights != TensorType::INT8)
    return "it has no form in integers but that of 8 bits";
  if (std::string why = recurrentRefusal(op); !why.empty())
    return why;
  if (!isReal(op.operand(0)) || !isReal(op.result()))
    return "its input and its result are not both floats";
  decision.operands.resize(op.numOperands());
  decision.results.resize(op.results().size());
  // What an LSTM remembers has the zero point 0: runtimes differ in how they take another one into account.
  auto remembered = [&](const Value &value) {
    auto range = recordedRange(value);
    return range ? storages.aroundZero(TensorType::INT8, *range) : nullptr;
  };
  const Storage *in = decision.operands[0] = storages.ofTensor(*op.operand(0), TensorType::INT8);
  const Storage *out = decision.results[0] =
      op.code == Op::SVDF ? storages.ofTensor(*op.result(), TensorType::INT8) : remembered(*op.result());
  for (const Value *value : {in ? nullptr : op.operand(0), out ? nullptr : op.result()})
    if (value)
      return withoutRange(*value);
  // What the kernel makes within has tensors that only carry scales. Sums are in 16 bits of a scale that it knows,
  // unless they are normalised; and without a projection, what that would read is the result.
  const Storage *beforeProjection = out;
  if (op.code != Op::SVDF) {
    decision.intermediates.assign(lstmIntermediates, nullptr);
    llvm::ArrayRef<Value *> within = op.intermediates();
    for (unsigned i = 0; i < lstmIntermediates; ++i) {
      bool isHidden = i + 1 == lstmIntermediates;
      auto range = i < within.size() && within[i] ? recordedRange(*within[i]) : std::nullopt;
      if (!usesIntermediate(op, i)) {
        decision.intermediates[i] = isHidden ? out : nullptr;
      } else if (!range) {
        return isHidden
                   ? "what its projection reads has no recorded range, which an intermediate of the operator would have"
                   : "sums that it normalises have no recorded range, which intermediates of the operator would have";
      } else {
        decision.intermediates[i] = isHidden ? remembered(*within[i]) : storages.ofRange(TensorType::INT16, *range);
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
      stored = scale ? storages.make(TensorType::INT16, Parameters{*scale, 0}, 0)
                     : storages.ofRange(TensorType::INT16, *range);
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
      Extremes range = storages.extremesOf(*value, -1).front();
      if (!(std::max(-range.min, range.max) < scale * 2147483647.f))
        return nameOf(value) + " is too large for the scales of what it is added to";
      stored = storages.make(TensorType::INT32, Parameters{scale, 0}, 0, {}, op.operand(weights));
    } else {
      TensorType type = one.as == As::Weights ? TensorType::INT8 : TensorType::INT16;
      Extremes range = storages.extremesOf(*value, -1).front();
      stored = storages.make(type, weightParameters(range, type, scheme.dialect), 0);
    }
    if (!std::isfinite(stored->quantization->scale[0]) || stored->quantization->scale[0] <= 0)
      return nameOf(value) + " has a range that no scale can hold";
  }
  return unsupported(op, decision);
}

/// What records tell to add to weights and bias.
void Planner::correct(const Operator &op, const Weights &weights, const Choice &choice, Decision &decision) {
  auto bias = static_cast<unsigned>(biasOf(op.code));
  const Value *constant = bias < op.numOperands() ? op.operand(bias) : nullptr;
  std::optional<Summand> rounding, shift;
  if (const Adapted *adapted = scheme.adaptedOf(op)) {
    rounding = adapted->weights;
    shift = adapted->bias;
  } else {
    auto inputs = scheme.moments ? scheme.moments->find(&op) : Moments::const_iterator();
    const Storage *stored = decision.operands[weights.operand];
    if (!scheme.moments || isByBlock(op, choice) || inputs == scheme.moments->end() ||
        hasOwnScales(*op.operand(weights.operand)) || stored->type == TensorType::UINT8 || choice.asymmetricWeights)
      return;
    if (choice.choosesRounding)
      rounding = chosenRounding(op, *stored, inputs->second);
    if (choice.correctsBias && (!constant || (isReal(constant) && isDense(constant))))
      shift = biasCorrection(op, bias, *stored, rounding ? &*rounding : nullptr, inputs->second);
  }
  if (rounding)
    decision.summands.emplace_back(weights.operand, *rounding);
  if (!shift)
    return;
  decision.summands.emplace_back(bias, *shift);
  if (constant)
    return;
  decision.operands.resize(std::max<size_t>(decision.operands.size(), bias + 1));
  if (choice.mode == Scheme::Mode::Full)
    decision.operands[bias] = storages.ofBias(op, bias, weights, choice, decision);
}

/// Operators whose weights no scheme for weights alone stores.
bool hasOtherWeights(Op code) {
  switch (code) {
  case Op::BIDIRECTIONAL_SEQUENCE_LSTM:
  case Op::BIDIRECTIONAL_SEQUENCE_RNN:
  case Op::CONV_3D:
  case Op::CONV_3D_TRANSPOSE:
  case Op::EMBEDDING_LOOKUP_SPARSE:
  case Op::GATHER:
  case Op::LSTM:
  case Op::RNN:
  case Op::SVDF:
  case Op::UNIDIRECTIONAL_SEQUENCE_LSTM:
  case Op::UNIDIRECTIONAL_SEQUENCE_RNN:
    return true;
  default:
    return false;
  }
}

std::string Planner::decideWeights(Operator &op, const Choice &choice, Decision &decision) {
  bool isTflite = scheme.dialect == Dialect::Tflite;
  std::optional<Weights> weights = isTflite ? weightsAlone(op) : weightsOf(op);
  uint64_t least = std::max<uint64_t>(choice.leastElements, 1);
  auto isBig = [&](const Value *value) {
    return isReal(value) && value->isConstant() && value->elementCount().value_or(0) >= least;
  };
  if (!weights)
    return isTflite && hasOtherWeights(op.code) &&
                   llvm::any_of(op.operands(), [&](const Use &use) { return isBig(use.get()); })
               ? "its weights are stored as floats only"
               : "";
  if (!isReal(op.operand(weights->operand)))
    return {};
  const Value &w = *op.operand(weights->operand);
  if (!isDense(&w))
    return nameOf(&w) + " is no dense constant";
  if (hasOwnScales(w) || w.elementCount() == 0u)
    return {};
  if (choice.mode == Scheme::Mode::Weights && op.code == Op::BATCH_MATMUL && weights->operand == 0)
    return "no kernel has integers in front of floats";
  if (!isBig(&w))
    return "its weights have fewer than " + std::to_string(least) + " elements (--min-elements)";
  if (isByBlock(op, choice) && (w.rank() != 2 || w.shape[1] % choice.blockSize != 0))
    return nameOf(&w) + " has rows that blocks of " + std::to_string(choice.blockSize) + " do not divide";
  decision.operands.resize(op.numOperands());
  decision.operands[weights->operand] = storages.ofWeights(op, *weights, choice, decision);
  if (llvm::any_of(decision.operands[weights->operand]->quantization->scale, [](float s) { return !std::isfinite(s); }))
    return nameOf(&w) + " holds an infinity";
  correct(op, *weights, choice, decision);
  if (isByBlock(op, choice) && activationOf(op) != circle::ActivationFunctionType::NONE)
    decision.results.assign(1, storages.keep({TensorType::FLOAT32, nullptr})); // some runtimes leave out what is fused
  if (choice.mode == Scheme::Mode::Weights)
    return unsupported(op, decision);
  bool widens = choice.mode == Scheme::Mode::WidenedWeights;
  decision.constants = widens ? StoragePlan::Constants::Widened : StoragePlan::Constants::Rounded;
  return {};
}

std::string Planner::decideHalves(Operator &op, Decision &decision) {
  std::optional<Weights> weights = weightsOf(op);
  int bias = biasOf(op.code);
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    bool big = isReal(value) && isDense(value) && value->elementCount().value_or(0) >= 1024;
    bool own = weights && isReal(value) && isDense(value) && (i == weights->operand || static_cast<int>(i) == bias);
    if (!big && !own)
      continue;
    Extremes range = storages.extremesOf(*value, -1).front();
    if (range.min < -65504 || range.max > 65504)
      return nameOf(value) + " has numbers beyond those of float16";
    decision.operands.resize(op.numOperands());
    decision.operands[i] = storages.keep({TensorType::FLOAT16, nullptr});
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
    return storages.keep({TensorType::FLOAT32, nullptr});
  bool isSigned = scheme.common.mode == Scheme::Mode::Signed;
  if (value->type != (isSigned ? TensorType::UINT8 : TensorType::INT8))
    return nullptr;
  llvm::SmallVector<Parameters> parameters;
  for (auto [i, scale] : llvm::enumerate(q->scale))
    parameters.push_back({scale, (i < q->zeroPoint.size() ? q->zeroPoint[i] : 0) + (isSigned ? -128 : 128)});
  return storages.make(isSigned ? TensorType::INT8 : TensorType::UINT8, parameters,
                       value->rank() == 1 ? 0 : q->dimension);
}

/// Weights that are signed lie around zero: the numbers of a channel that go further than 127 steps get a greater
/// scale, and so does its bias.
std::string Planner::decideSigned(const Operator &op, Decision &decision) {
  auto weights = weightsOf(op);
  const Value *filter = weights ? op.operand(weights->operand) : nullptr;
  const Value *input = weights ? op.operand(inputOf(op)) : nullptr;
  if (!filter || filter->type != TensorType::UINT8)
    return {};
  const Quantization *q = filter->quantization;
  if (!isDense(filter) || !q || q->scale.size() != 1 || q->zeroPoint.size() != 1 || !input || !input->quantization ||
      input->quantization->scale.size() != 1)
    return nameOf(filter) + " is no dense constant with one scale";
  bool oneScale = op.code == Op::FULLY_CONNECTED || op.code == Op::TRANSPOSE_CONV;
  uint64_t channels = oneScale ? 1 : filter->shape[weights->axis], behind = 1;
  for (int32_t size : llvm::ArrayRef<int32_t>(filter->shape).drop_front(weights->axis + 1))
    behind *= size;
  std::vector<uint8_t> bytes(filter->payload().size());
  filter->payload().read(0, bytes);
  std::vector<int64_t> reach(channels, 127);
  for (size_t i = 0; i < bytes.size(); ++i) {
    int64_t &most = reach[channels == 1 ? 0 : i / behind % channels];
    most = std::max<int64_t>(most, std::abs(int64_t{bytes[i]} - q->zeroPoint[0]));
  }
  llvm::SmallVector<Parameters> ofFilter, ofBias;
  for (int64_t most : reach) {
    float scale = q->scale[0] * (static_cast<float>(most) / 127);
    ofFilter.push_back({most == 127 ? q->scale[0] : scale, 0});
    ofBias.push_back({input->quantization->scale[0] * ofFilter.back().scale, 0});
  }
  decision.operands[weights->operand] = storages.make(TensorType::INT8, ofFilter, oneScale ? 0 : weights->axis);
  int position = biasOf(op.code);
  if (const Value *bias = position < 0 ? nullptr : op.operand(position)) {
    if (bias->type != TensorType::INT32 || !isDense(bias) || !bias->quantization || bias->quantization->scale.empty())
      return nameOf(bias) + " is no dense constant with a scale";
    decision.operands[position] = storages.make(TensorType::INT32, ofBias, 0);
  }
  return {};
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
  const bool recodes = op.code == Op::QUANTIZE || op.code == Op::DEQUANTIZE;
  if (!recodes && op.info() && !op.info()->has(Trait::ShapeQuery) && factsOf(op.code).tflite == Scaling::Real &&
      llvm::any_of(decision.operands, stored))
    return "it reads the integers as they stand";
  if (scheme.common.mode == Scheme::Mode::Signed)
    if (std::string why = decideSigned(op, decision); !why.empty())
      return why;
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
  if (auto results = inferResults(op); !results)
    return "its operands do not fit: " + llvm::toString(results.takeError());
  std::string why = !choice.quantize ? choice.whyFloat.str()
                    : stores         ? decideOtherwise(op, decision)
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
      storages.agree(*op.result(i), storage);
  made.storage.operators[&op] = std::move(decision);
  choices[&op] = &choice;
  return {};
}

/// What a shared scale asks of who computes the operands: they have it too, if nobody else uses them.
void Planner::pushScale(Value &value, const Storage *scale) {
  if (!value.hasOneUse() && !(value.isGraphInput && value.useCount() == 1))
    return;
  Operator *op = value.producer();
  if (!op) {
    if (value.isGraphInput)
      storages.agree(value, scale);
    return;
  }
  auto found = made.storage.operators.find(op);
  if (found == made.storage.operators.end() || choices.lookup(op)->activations != scale->type)
    return;
  Decision &decision = found->second;
  Scaling scaling = scalingOf(*op, scheme);
  bool remembers =
      llvm::any_of(recurrentOperands(op->code), [](auto &one) { return one.as == RecurrentOperand::As::Result; });
  if (scaling == Scaling::Fixed || scaling == Scaling::Whole || op->results().size() != 1 || remembers)
    return;
  Decision changed = decision;
  changed.results[0] = scale;
  if (scaling == Scaling::AsInput)
    if (auto first = llvm::find_if(changed.operands, [](const Storage *operand) { return operand; });
        first != changed.operands.end())
      *first = scale;
  if (scheme.dialect == Dialect::Tflite && !scaleRefusal(*op, changed).empty())
    return; // a bridge stands between them
  decision.results[0] = scale;
  storages.agree(value, scale);
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
          scalingOf(op, scheme) != Scaling::Shared || found->second.results.empty())
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
  if (scheme.common.mode == Scheme::Mode::Signed)
    return; // who calls the model finds it as it was
  for (Subgraph *graph : endGraphs(model))
    decideInterface(*graph);
}

void Planner::decideInterface(Subgraph &graph) {
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
    for (auto [i, value] : llvm::enumerate(values)) {
      if (!isReal(value) || types.empty())
        continue;
      TensorType type = typeOfEnd(types, values.size(), i, reals++);
      if (type == TensorType::FLOAT32 || !seen.insert(value).second)
        continue;
      if (const Storage *storage = storages.ofTensor(*value, type))
        made.storage.interface.push_back({value, storage});
    }
  };
  decideAll(graph.inputs, scheme.inputs);
  decideAll(graph.outputs, scheme.outputs);
}

llvm::Expected<Plan> Planner::plan() {
  model.number();
  fixed = computedFromConstants(model);
  llvm::StringMap<bool> met;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      if (op.result() && scheme.layers.contains(op.result()->name))
        met[op.result()->name] = true;
  for (const auto &layer : scheme.layers)
    if (!scheme.isFollowed && !met.contains(layer.first()))
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
