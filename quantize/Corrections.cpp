#include "quantize/Corrections.h"

#include "quantize/Parameters.h"
#include "quantize/Patches.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace origo::quantize {

namespace {

/// As they are to be stored.
struct Rows : WeightRows {
  Rows(const Operator &op, const Storage &stored, const InputMoments &inputs)
      : WeightRows(op, inputs.groups.front().sum.size(), inputs.groups.size()), scales(stored.quantization->scale),
        most(static_cast<float>(largestWeight(stored.type))) {}
  llvm::ArrayRef<float> scales;
  float most;
  float scale(size_t row) const { return scales.size() == 1 ? scales[0] : scales[row]; }
  float nearest(float weight, size_t row) const {
    return std::clamp(std::round(weight / scale(row)), -most, most) * scale(row);
  }
};

/// Factors the matrix of products, in place, into (I + U) D (I + U)ᵀ with U above the diagonal: row k is then column k
/// of U, of which the diagonal's element is no part. A little is added to the diagonal, for a few records see few
/// directions.
void factor(std::vector<double> &matrix, size_t size) {
  std::vector<double *> rows(size);
  double *start = matrix.data(), trace = 0;
  for (size_t i = 0; i < size; start += ++i) {
    rows[i] = start;
    trace += start[i];
  }
  double damping = trace > 0 ? 0.01 * trace / static_cast<double>(size) : 1;
  for (size_t i = 0; i < size; ++i)
    rows[i][i] += damping;
  for (size_t k = size; k-- > 0;) {
    double *column = rows[k], diagonal = std::max(column[k], damping * 1e-3);
    for (size_t i = 0; i < k; ++i)
      if (double by = column[i] / diagonal; by != 0)
        for (size_t j = 0; j <= i; ++j)
          rows[i][j] -= by * column[j];
    for (size_t i = 0; i < k; ++i)
      column[i] /= diagonal;
  }
}

} // namespace

std::optional<Summand> chosenRounding(const Operator &op, const Storage &stored, const InputMoments &inputs) {
  if (inputs.groups.front().products.empty())
    return std::nullopt;
  Rows rows(op, stored, inputs);
  std::vector<float> weights = floatsOf(op.operand(1)->payload()), summand(weights.size());
  std::vector<double> matrix, errors(rows.length);
  for (size_t row = 0; row < rows.count; ++row) {
    if (row % rows.perGroup == 0) {
      matrix = inputs.groups[row / rows.perGroup].products;
      factor(matrix, rows.length);
    }
    double scale = rows.scale(row), most = rows.most;
    const double *column = matrix.data();
    for (size_t k = 0; k < rows.length; column += ++k) {
      double weight = weights[rows.at(row, k)], wanted = weight;
      for (size_t j = 0; j < k; ++j)
        wanted += errors[j] * column[j];
      double below = std::floor(weight / scale);
      double code = std::clamp(std::clamp(std::round(wanted / scale), below, below + 1), -most, most);
      errors[k] = weight - code * scale;
      summand[rows.at(row, k)] = static_cast<float>(code * scale - weight);
    }
  }
  return Summand{payloadOf(summand), true};
}

/// Of each channel of x, the greatest magnitude of the weights that read it, and these as parents. None: others than
/// these operators use it.
static std::optional<Summand> weightsOfAll(const Value &x, llvm::ArrayRef<const Operator *> readers, size_t channels) {
  Summand all;
  std::vector<float> greatest(channels);
  for (const Operator *op : readers) {
    Value *w = op->operand(1), *bias = op->numOperands() > 2 ? op->operand(2) : nullptr;
    if (w->shape.back() != static_cast<int64_t>(channels) || (w->payload().size() > 4096 && !w->hasOneUse()) ||
        (bias && !bias->isConstant()))
      return std::nullopt; // it could not take the factor back
    for (auto [most, range] : llvm::zip_equal(greatest, extremesOf(*w, w->rank() - 1)))
      most = std::max({most, -range.min, range.max});
    if (!llvm::is_contained(all.parents, w))
      all.parents.push_back(w);
  }
  if (x.otherUses != 0 || x.useCount() != readers.size())
    return std::nullopt;
  all.numbers = payloadOf(greatest);
  return all;
}

StoragePlan reachesOf(const Model &model, const Moments &moments, double migration) {
  StoragePlan plan;
  plan.migration = migration;
  // What hardly moved in these records may in others, so it is not taken for much less than the rest.
  constexpr float least = 1.f / 32;
  llvm::MapVector<const Value *, llvm::SmallVector<const Operator *, 2>> readers;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      auto inputs = moments.find(&op);
      if (inputs == moments.end() || op.code == BuiltinOperator::TRANSPOSE_CONV) // no pass balances it
        continue;
      std::vector<float> reach;
      for (const Extremes &channel : inputs->second.channels)
        reach.push_back(channel.empty() ? 0 : std::max(-channel.min, channel.max));
      float most = *std::max_element(reach.begin(), reach.end());
      for (float &one : reach)
        one = one > 0 ? std::max(one, least * most) : 0;
      plan.reaches[&op].goes = {payloadOf(reach)};
      readers[op.operand(0)].push_back(&op);
    }
  for (const auto &[x, all] : readers)
    if (all.size() > 1)
      if (auto weights = weightsOfAll(*x, all, moments.find(all.front())->second.channels.size()))
        for (const Operator *reader : all)
          plan.reaches[reader].allReaders = weights;
  return plan;
}

StoragePlan shiftsOf(const Model &model, const Moments &moments) {
  StoragePlan plan;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      auto inputs = moments.find(&op);
      if (inputs == moments.end() || op.code == BuiltinOperator::TRANSPOSE_CONV) // no pass balances it
        continue;
      // As after RELU. Without one this is as good, and most often not so.
      bool rectified = llvm::all_of(inputs->second.channels, [](const Extremes &c) { return c.empty() || c.min >= 0; });
      std::vector<float> shifts;
      Extremes before{0, 0}, behind{0, 0}; // zero is in every stored range
      for (const Extremes &channel : inputs->second.channels) {
        float c = channel.empty() ? 0
                  : rectified     ? std::max(0.f, channel.min - (channel.max - channel.min) / 16)
                                  : channel.min / 2 + channel.max / 2;
        if (!std::isfinite(c))
          c = 0;
        shifts.push_back(c);
        before.join(channel);
        behind.join({channel.min - c, channel.max - c});
      }
      constexpr float worth = 0.95f;
      if (behind.max - behind.min < worth * (before.max - before.min))
        plan.shifts[&op] = {payloadOf(shifts)};
    }
  return plan;
}

std::optional<Summand> biasCorrection(const Operator &op, unsigned bias, const Storage &stored, const Summand *rounding,
                                      const InputMoments &inputs) {
  Rows rows(op, stored, inputs);
  const Value *constant = op.operand(bias);
  if (constant && constant->elementCount() != rows.count)
    return std::nullopt;
  std::vector<float> weights = floatsOf(op.operand(1)->payload()), chosen, shift(rows.count);
  if (rounding)
    chosen = floatsOf(rounding->numbers);
  for (size_t row = 0; row < rows.count; ++row) {
    const std::vector<double> &sum = inputs.groups[row / rows.perGroup].sum;
    double off = 0;
    for (size_t i = 0; i < rows.length; ++i) {
      size_t at = rows.at(row, i);
      float kept = rounding ? weights[at] + chosen[at] : rows.nearest(weights[at], row);
      off += (static_cast<double>(weights[at]) - kept) * sum[i];
    }
    shift[row] = static_cast<float>(off / static_cast<double>(inputs.count));
  }
  if (!constant && llvm::all_of(shift, [](float one) { return one == 0; }))
    return std::nullopt;
  return Summand{payloadOf(shift), false, {op.operand(1)}};
}

} // namespace origo::quantize
