#include "quantize/Adapt.h"

#include "eval/Dense.h"
#include "ir/Activation.h"
#include "quantize/CrossMoments.h"
#include "quantize/LeastError.h"
#include "quantize/Plan.h"
#include "quantize/Prefix.h"
#include "quantize/Storages.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

namespace {

/// One operator.
class Adapter {
public:
  Adapter(const Operator &op, const Storage &stored, CrossMoments &moments)
      : stored(stored), moments(moments), weights(op.operand(1)),
        rows(op, moments.over().length(), moments.over().groups()), real(floatsOf(weights->payload())),
        rounded(real.size()), shifts(rows.count) {}
  /// What is stored stands for these weights then, and is off in the mean by this. False: weights or inputs are NaN,
  /// infinite, or too large for their squares.
  bool run();
  Adapted result() const;
  const std::vector<float> &stands() const { return rounded; }
  const std::vector<float> &shift() const { return shifts; }

private:
  const Storage &stored;
  CrossMoments &moments;
  const Value *weights;
  WeightRows rows;
  std::vector<float> real, rounded, shifts, scales;
  std::vector<std::unique_ptr<ErrorForm>> forms;

  std::vector<float> rowOf(size_t row) const {
    std::vector<float> numbers(rows.length);
    for (size_t i = 0; i < rows.length; ++i)
      numbers[i] = real[rows.at(row, i)];
    return numbers;
  }
  std::vector<float> wanted(llvm::ArrayRef<float> row, const ErrorForm &form, llvm::ArrayRef<float> apart) const;
  void finish(llvm::ArrayRef<RoundedRow> done, size_t first, float scale);
};

/// W* = W + W E[(x − x̂)x̂ᵀ] H⁻¹: what would be best of x̂ if it were not rounded.
std::vector<float> Adapter::wanted(llvm::ArrayRef<float> row, const ErrorForm &form,
                                   llvm::ArrayRef<float> apart) const {
  std::vector<float> result(row.begin(), row.end());
  if (apart.empty())
    return result;
  std::vector<double> b(rows.length);
  for (size_t i = 0; i < rows.length; ++i)
    if (double w = static_cast<double>(row[i]); w != 0)
      for (size_t j = 0; j < rows.length; ++j)
        b[j] += w * static_cast<double>(apart[i * rows.length + j]);
  b = form.solve(b);
  for (size_t i = 0; i < rows.length; ++i)
    result[i] += static_cast<float>(b[i]);
  return result;
}

void Adapter::finish(llvm::ArrayRef<RoundedRow> done, size_t first, float scale) {
  for (auto [k, row] : llvm::enumerate(done))
    for (size_t i = 0; i < rows.length; ++i)
      rounded[rows.at(first + k, i)] = row.codes[i] * scale;
  scales.push_back(scale);
}

bool Adapter::run() {
  auto most = static_cast<float>(largestWeight(stored.type));
  llvm::ArrayRef<float> widest = stored.quantization->scale;
  std::vector<std::vector<float>> kept(rows.count);
  std::vector<CrossMoments::Group> groups;
  std::vector<RoundedRow> all;
  for (size_t g = 0; g < moments.over().groups(); ++g) {
    CrossMoments::Group group = moments.take(g);
    forms.push_back(std::make_unique<ErrorForm>(std::move(group.products), rows.length));
    for (size_t r = g * rows.perGroup; r < (g + 1) * rows.perGroup; ++r) {
      kept[r] = rowOf(r);
      RoundedRow row{forms.back().get(), kept[r], wanted(kept[r], *forms.back(), group.apart)};
      if (widest.size() == 1) {
        all.push_back(std::move(row));
        continue;
      }
      std::optional<float> scale = roundRows(row, widest[r], most);
      if (!scale)
        return false;
      finish(row, r, *scale);
    }
    if (widest.size() != 1)
      forms.back().reset();
    group.apart.clear();
    groups.push_back(std::move(group));
  }
  if (widest.size() == 1) {
    std::optional<float> scale = roundRows(all, widest[0], most);
    if (!scale)
      return false;
    finish(all, 0, *scale);
  }
  for (size_t r = 0; r < rows.count; ++r) {
    const CrossMoments::Group &group = groups[r / rows.perGroup];
    double off = 0;
    for (size_t i = 0; i < rows.length; ++i)
      off += static_cast<double>(real[rows.at(r, i)]) * group.mean[i] -
             static_cast<double>(rounded[rows.at(r, i)]) * group.quantizedMean[i];
    shifts[r] = static_cast<float>(off);
    if (!std::isfinite(shifts[r]))
      return false;
  }
  return true;
}

Adapted Adapter::result() const {
  Adapted made{scales, {}, {}};
  std::vector<float> summand(real.size());
  for (size_t i = 0; i < real.size(); ++i)
    summand[i] = rounded[i] - real[i];
  made.weights = {payloadOf(summand), true};
  return made;
}

bool asks(const Operator &op, const Scheme &scheme) {
  const Scheme::Choice &choice = scheme.of(op);
  return choice.quantize && choice.adapts && !choice.blockSize && !choice.asymmetricWeights;
}

/// How its weights are stored, where they can be adapted; null: they cannot.
const Storage *storageOf(const Operator &op, const StoragePlan &plan) {
  const StoragePlan::Decision *decision = plan.of(op);
  const Storage *stored = decision && decision->operands.size() > 1 ? decision->operands[1] : nullptr;
  if (!stored || !Patches::fit(op) || !stored->quantization || stored->type == TensorType::UINT8 ||
      stored->quantization->details != Quantization::Details::None || CrossMoments::isTooLarge(Patches(op)) ||
      hasOwnScales(*op.operand(1)))
    return nullptr;
  size_t scales = stored->quantization->scale.size();
  Patches patches(op);
  return scales == 1 || scales == WeightRows(op, patches.length(), patches.groups()).count ? stored : nullptr;
}

/// The bias that takes the mean back. None: there is one that is no such constant.
std::optional<const Value *> biasFor(const Operator &op) {
  auto position = static_cast<unsigned>(biasOf(op.code));
  const Value *bias = position < op.numOperands() ? op.operand(position) : nullptr;
  if (bias && (!bias->isConstant() || bias->type != TensorType::FLOAT32 || !isDense(bias)))
    return std::nullopt;
  return bias;
}

void adapt(Prefix &prefix, const Storage &stored, Adaptations &made) {
  const Operator &op = prefix.stop();
  const Value &x = *op.operand(inputOf(op));
  Patches patches(op);
  uint64_t positions = 0;
  for (uint64_t r = 0; r < prefix.count(); ++r)
    positions += patches.over(prefix.tensor(r, x).shape).count();
  if (positions == 0)
    return;
  CrossMoments moments(op, positions);
  for (uint64_t r = 0; r < prefix.count(); ++r) {
    Prefix::Both both = prefix.tensor(r, x);
    moments.add(both.real.data(), both.quantized.data(), both.shape);
  }
  Adapter adapter(op, stored, moments);
  if (!adapter.run())
    return;
  Adapted result = adapter.result();
  prefix.set(*op.operand(1), adapter.stands());
  const std::vector<float> &shift = adapter.shift();
  auto bias = biasFor(op);
  if (bias && (!*bias || (*bias)->elementCount() == shift.size())) {
    bool any = llvm::any_of(shift, [](float one) { return one != 0; });
    if (*bias) {
      std::vector<float> numbers = floatsOf((*bias)->payload());
      for (auto [number, by] : llvm::zip_equal(numbers, shift))
        number += by;
      prefix.set(**bias, std::move(numbers));
    } else if (any && activationOf(op) == circle::ActivationFunctionType::NONE) {
      prefix.shift(shift);
    }
    if (*bias || any)
      result.bias = Summand{payloadOf(shift), false, {op.operand(1)}};
  }
  made[&op] = std::move(result);
}

} // namespace

llvm::Expected<Adaptations> adaptRoundings(Model &model, OpenRecords open, const Scheme &scheme,
                                           const std::function<void(uint64_t done, uint64_t all)> &progress) {
  Adaptations made;
  auto plan = planBy(scheme)(model);
  if (!plan)
    return plan.takeError();
  if (model.signatures.size() > 1)
    return made;
  Subgraph &graph = *model.subgraphs.front();
  std::vector<const Operator *> stops;
  for (const Operator &op : graph.operators)
    if (asks(op, scheme) && storageOf(op, *plan))
      stops.push_back(&op);
  Prefix prefix(model, graph, *plan, stops);
  auto opened = prefix.open(open);
  if (!opened)
    return opened.takeError();
  for (uint64_t done = 0; *opened; ++done) {
    auto more = prefix.next();
    if (!more)
      return more.takeError();
    if (!*more)
      break;
    adapt(prefix, *storageOf(prefix.stop(), *plan), made);
    if (progress)
      progress(done + 1, stops.size());
  }
  return made;
}

} // namespace origo::quantize
