#include "quantize/Summary.h"

#include "ir/Model.h"
#include "quantize/Ranges.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace origo::quantize {

using llvm::Error;

static float percentile(std::vector<float> numbers, double percent) {
  llvm::sort(numbers);
  double at = static_cast<double>(numbers.size() - 1) * percent / 100;
  size_t i = std::min(static_cast<size_t>(at), numbers.size() - 1);
  if (i + 1 == numbers.size())
    return numbers.back();
  double part = at - static_cast<double>(i);
  return static_cast<float>(numbers[i] + part * (static_cast<double>(numbers[i + 1]) - numbers[i]));
}

static Extremes percentiles(const Statistics::Tensor &tensor, const Summary &summary) {
  std::vector<float> min, max;
  for (const Extremes &row : tensor.rows)
    if (!row.empty()) {
      min.push_back(row.min);
      max.push_back(row.max);
    }
  return min.empty() ? Extremes() : Extremes{percentile(min, summary.low), percentile(max, summary.high)};
}

Extremes movingAverage(const Statistics::Tensor &tensor, size_t size, float c) {
  Extremes average;
  for (size_t first = 0; first < tensor.rows.size(); first += size) {
    Extremes batch;
    for (const Extremes &row : llvm::ArrayRef(tensor.rows).slice(first, std::min(size, tensor.rows.size() - first)))
      batch.join(row);
    if (batch.empty())
      continue;
    average = average.empty() ? batch
                              : Extremes{(1 - c) * average.min + c * batch.min, (1 - c) * average.max + c * batch.max};
  }
  return average;
}

Extremes summarise(const Statistics::Tensor &tensor, const Summary &summary) {
  if (!summary.calibrator)
    return summary.mode == Summary::Mode::Percentile ? percentiles(tensor, summary)
                                                     : movingAverage(tensor, summary.batch, summary.constant);
  Extremes all;
  for (const Extremes &row : tensor.rows)
    all.join(row);
  return all.empty() ? all : summary.calibrator->range(tensor, all, summary);
}

Error checkStatistics(Model &model, const Statistics &statistics) {
  model.number();
  for (const Statistics::Tensor &tensor : statistics.tensors) {
    Value *value =
        tensor.subgraph < model.subgraphs.size() && tensor.index < model.subgraphs[tensor.subgraph]->values.size()
            ? model.subgraphs[tensor.subgraph]->values[tensor.index]
            : nullptr;
    if (!value || value->type != TensorType::FLOAT32 || value->name != tensor.name)
      return makeError("the statistics are of another model: it has no float tensor " + llvm::Twine(tensor.index) +
                       " \"" + printable(tensor.name) + "\"");
  }
  return Error::success();
}

Error setRanges(Model &model, const Statistics &statistics, const Summaries &summaries,
                std::vector<std::string> &silent) {
  if (Error error = checkStatistics(model, statistics))
    return error;
  llvm::StringSet<> names;
  for (const Statistics::Tensor &tensor : statistics.tensors)
    names.insert(tensor.name);
  for (const auto &[name, summary] : summaries.named)
    if (!names.contains(name))
      return makeError("no tensor of floats is called \"" + printable(name) + "\"");
  const llvm::DenseSet<const Value *> fixed = computedFromConstants(model);
  const Value *computed = nullptr;
  bool anyRange = false;
  for (const Statistics::Tensor &tensor : statistics.tensors) {
    Value *value = model.subgraphs[tensor.subgraph]->values[tensor.index];
    const Summary &summary = summaries.of(tensor.name);
    if (summary.needsHistograms() && !statistics.histograms)
      return makeError("the statistics have no histograms, which this calibrator needs: record them with --histograms");
    Extremes range = summarise(tensor, summary);
    bool known = !range.empty();
    bool isFixed = fixed.contains(value); // nothing is wrong with the records
    if (!known && !isFixed)
      silent.push_back(tensor.name);
    if (value->producer() && value->elementCount() != 0 && !isFixed) {
      computed = computed ? computed : value;
      anyRange |= known;
    }
    Quantization quantization = value->quantization ? *value->quantization : Quantization();
    if (!known && isFixed)
      continue;
    if (!known) { // nor has it the one that the file came with, which is of other records
      quantization.min = quantization.max = {};
      if (value->quantization && quantization.quantized())
        model.setQuantization(*value, quantization);
      else
        value->quantization = nullptr;
      continue;
    }
    quantization.min = model.copy(llvm::ArrayRef(range.min));
    quantization.max = model.copy(llvm::ArrayRef(range.max));
    model.setQuantization(*value, quantization);
  }
  if (computed && !anyRange)
    return makeError("no record gave any result a finite number, the first being \"" + printable(computed->name) +
                     "\": look for NaN and infinities in the records, and in constants");
  return Error::success();
}

std::string withoutRange(llvm::ArrayRef<std::string> silent) {
  return std::to_string(silent.size()) + (silent.size() == 1 ? " tensor has" : " tensors have") +
         " no range, as no record gave finite numbers; the first is \"" + printable(silent.front()) + "\"";
}

} // namespace origo::quantize
