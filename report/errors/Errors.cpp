#include "report/errors/Errors.h"

#include "eval/EvalError.h"
#include "eval/Parts.h"
#include "eval/RealNumbers.h"
#include "report/errors/Constants.h"
#include "report/errors/RunParts.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

namespace origo::report {

using namespace eval;

namespace {

bool holdsNumbers(TensorType type) {
  return type != TensorType::STRING && type != TensorType::RESOURCE && type != TensorType::VARIANT &&
         bitsPerElement(type).value_or(0) >= 8;
}

/// What an output is off, and the range of what is right.
struct OutputError {
  RecordSums sums;
  double range() const { return std::max(sums.high, 0.) - std::min(sums.low, 0.); } // an output may be one number
  /// Root of the mean square in parts of the range.
  double part() const { return range() > 0 ? std::sqrt(sums.squares / static_cast<double>(sums.count)) / range() : 0; }
};

/// None: there is nothing to compare.
std::optional<OutputError> outputError(const Value &value, OwnedTensor right, const Value &other, OwnedTensor have) {
  auto want = realNumbers(viewOf(value, right)), is = realNumbers(viewOf(other, have));
  if (!want || !is || want->size() != is->size() || want->empty())
    return std::nullopt;
  OutputError error;
  error.sums.add(*want, *is);
  return error;
}

/// The mean of the parts over the outputs of two runs of one model.
double outputsError(llvm::ArrayRef<Port> ports, llvm::ArrayRef<NamedTensor> right, llvm::ArrayRef<NamedTensor> have) {
  double sum = 0;
  unsigned counted = 0;
  for (size_t i = 0; i < right.size() && i < have.size(); ++i)
    if (auto error = outputError(*ports[i].value, right[i].tensor, *ports[i].value, have[i].tensor)) {
      sum += error->part();
      ++counted;
    }
  return counted ? sum / counted : 0;
}

double meanSquare(const RecordSums &sums) { return sums.count ? sums.squares / static_cast<double>(sums.count) : 0; }

} // namespace

ErrorRun::ErrorRun(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
ErrorRun::ErrorRun(ErrorRun &&) noexcept = default;
ErrorRun::~ErrorRun() = default;

llvm::Expected<ErrorRun> ErrorRun::of(const Imported &source, const Imported &result, const ErrorOptions &options) {
  CompileOptions observed = options.compile;
  observed.observed = true;
  auto was = compile(*source.model, observed), is = compile(*result.model, observed);
  if (!was || !is)
    return firstError(was, is);
  auto parts = std::make_unique<Parts>(Pairs::of(source, result), std::move(*was), std::move(*is), options);
  const llvm::DenseSet<const Value *> outputs = outputsOf(*source.model);
  bool computes = false, paired = false, pairedOutput = outputs.empty();
  for (const auto &graph : source.model->subgraphs) {
    llvm::SmallVector<const Value *> computed(graph->inputs.begin(), graph->inputs.end());
    for (const Operator &op : graph->operators)
      llvm::copy_if(op.results(), std::back_inserter(computed), [](const Value *value) { return value; });
    for (const Value *value : graph->values)
      if (value->isConstant() && outputs.contains(value))
        computed.push_back(value);
    for (const Value *value : computed) {
      ErrorRow row{value};
      auto counterparts = parts->pairs.of(*value);
      computes |= !value->isGraphInput;
      paired |= !value->isGraphInput && !counterparts.empty();
      row.isOutput = outputs.contains(value);
      pairedOutput |= row.isOutput && !counterparts.empty();
      if (!parts->pairs.tellsOf(*value))
        row.unmeasured = row.isOutput ? "is no output of the result" : "nothing of the result leads to it";
      row.recovered = counterparts.empty() && row.unmeasured.empty();
      for (const Counterpart &c : counterparts)
        if (c.value->quantization && c.value->quantization->scale.size() == 1 && !isFloat(c.value->type))
          row.scale = c.value->quantization->scale[0];
      if (!holdsNumbers(value->type))
        row.unmeasured = "holds no numbers";
      else if (row.unmeasured.empty())
        parts->rowOf[value] = parts->rows.size();
      parts->part.rows.push_back({graph->index, value->index});
      parts->rows.push_back(std::move(row));
    }
  }
  if ((computes && !paired) || (!pairedOutput && parts->pairs.by != Pairs::By::Relations))
    return makeError("no output of one model is in the other one, by origins, order of operators, position or name, so "
                     "that there is "
                     "nothing to compare: was one made from the other?");
  parts->open.resize(parts->rows.size());
  parts->remembers = eval::remembers(*source.model) || eval::remembers(*result.model);
  parts->recovers = llvm::any_of(parts->rows, [](const ErrorRow &row) { return row.recovered; });
  parts->part.own = options.own;
  parts->part.engine =
      engineText(parts->source, options.compile.engine) + "; " + engineText(parts->result, options.compile.engine);
  return ErrorRun(std::move(parts));
}

std::vector<std::string> ErrorRun::signatures() const {
  auto list = parts->source.signatures();
  if (list.empty())
    list.emplace_back();
  return list;
}

llvm::Expected<llvm::ArrayRef<Port>> ErrorRun::inputs(llvm::StringRef signature) const {
  return parts->source.inputs(signature);
}

const Pairs &ErrorRun::pairs() const { return parts->pairs; }

void ErrorRun::endRecord() {
  for (size_t index : parts->touched) {
    Parts::Open open = std::exchange(parts->open[index], {});
    ErrorPart::Row &row = parts->part.rows[index];
    if (open.total.count)
      row.total.add(open.total);
    if (open.inherited.count)
      row.inherited.add(open.inherited);
    const RecordSums *worst = nullptr;
    for (const auto &[where, sums] : open.own)
      if (!worst || meanSquare(sums) > meanSquare(*worst))
        worst = &sums;
    if (worst)
      row.own.add(*worst);
  }
  parts->touched.clear();
}

llvm::Error ErrorRun::addEffects(llvm::StringRef signature, const std::vector<OwnedTensor> &inputs,
                                 const OwnErrors &own) {
  std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  RunOptions run;
  run.signature = signature.str();
  auto right = parts->source.run(refs, run);
  auto ports = parts->source.outputs(signature);
  if (!right || !ports)
    return firstError(right, ports);
  llvm::ArrayRef<Port> starts = llvm::cantFail(parts->source.inputs(signature));
  std::set<const Value *> layers;
  for (const auto &[place, off] : own)
    layers.insert(place.first);
  for (const Value *layer : layers) {
    auto input = llvm::find_if(starts, [&](const Port &port) { return port.value == layer; });
    std::map<const Value *, unsigned> times;
    auto add = [&](unsigned time, Tensor &tensor) {
      auto found = own.find({layer, time});
      auto numbers = realNumbers(tensor);
      if (found == own.end() || !numbers || numbers->size() != found->second.size())
        return;
      for (size_t i = 0; i < numbers->size(); ++i)
        (*numbers)[i] += found->second[i];
      storeNumbers(tensor, *numbers);
    };
    std::vector<OwnedTensor> changed;
    std::vector<TensorRef> given = refs;
    if (input != starts.end()) {
      size_t i = static_cast<size_t>(input - starts.begin());
      changed.push_back(inputs[i]);
      Tensor view = viewOf(*layer, changed.back());
      add(0, view);
      given[i] = changed.back();
    }
    run.observer = [&](const Operator &, const Value &value, Tensor &tensor) {
      if (&value == layer)
        add(times[&value]++, tensor);
    };
    auto outputs = parts->source.run(given, run);
    if (!outputs)
      return outputs.takeError();
    ErrorPart::Row &row = parts->part.rows[parts->rowOf.lookup(layer)];
    row.effects.add(outputsError(*ports, *right, *outputs));
    ++row.effectTimes;
  }
  return llvm::Error::success();
}

llvm::Expected<double> ErrorRun::errorWith(llvm::StringRef signature, const std::vector<OwnedTensor> &inputs,
                                           const Layers &layers) const {
  RunOptions run;
  run.signature = signature.str();
  auto right = parts->source.run(std::vector<TensorRef>(inputs.begin(), inputs.end()), run);
  auto starts = parts->source.inputs(signature), others = parts->result.inputs(signature);
  auto ports = parts->source.outputs(signature), ends = parts->result.outputs(signature);
  if (!right || !starts || !others || !ports || !ends)
    return firstError(right, starts, others, ports, ends);
  auto given = inputsOfResult(*starts, *others, parts->pairs, inputs);
  if (!given)
    return given.takeError();
  auto have = runSwapped(parts->source, parts->result, parts->pairs, signature.str(), *given, layers);
  if (!have)
    return have.takeError();
  double sum = 0;
  unsigned counted = 0;
  for (size_t i = 0; i < right->size(); ++i) {
    const Port &port = (*ports)[i];
    if (!holdsNumbers(port.value->type) || (*right)[i].tensor.bytes.empty())
      continue;
    const auto *end = llvm::find_if(
        *ends, [&](const Port &its) { return llvm::is_contained(parts->pairs.sourcesOf(*its.value), port.value); });
    size_t at = static_cast<size_t>(end - ends->begin());
    auto error = at < have->size() ? outputError(*port.value, (*right)[i].tensor, *end->value, (*have)[at].tensor)
                                   : std::nullopt;
    if (!error)
      return makeError("output \"" + printable(port.name) +
                       "\" cannot be compared: the result has none of its shape in its place");
    bool unbounded = error->sums.odd != 0 || (error->range() == 0 && error->sums.squares > 0);
    sum += unbounded ? INFINITY : error->part();
    ++counted;
  }
  if (!counted)
    return makeError("no output holds numbers that could be compared");
  return sum / counted;
}

const ErrorPart &ErrorRun::measured() const { return parts->part; }

llvm::Error ErrorRun::take(ErrorPart part) {
  bool same = llvm::equal(part.rows, parts->part.rows, [](const ErrorPart::Row &a, const ErrorPart::Row &b) {
    return a.subgraph == b.subgraph && a.tensor == b.tensor;
  });
  if (!same)
    return makeError("the errors are of other tensors");
  parts->part = std::move(part);
  return llvm::Error::success();
}

std::vector<ErrorRow> ErrorRun::rows() const {
  std::vector<ErrorRow> rows = parts->rows;
  for (auto [row, measured] : llvm::zip_equal(rows, parts->part.rows)) {
    row.total = measured.total;
    row.own = measured.own;
    row.inherited = measured.inherited;
    noteUnmeasured(row.unmeasured, measured.unmeasured);
    if (!measured.seen && row.unmeasured.empty())
      compareConstants(row, parts->pairs.of(*row.value));
    if (!parts->part.own)
      row.own = row.inherited = {};
    if (measured.effectTimes)
      row.effect = measured.effects.value() / static_cast<double>(measured.effectTimes);
    if (!row.total.empty() && !(row.isOutput && !measured.unmeasured.empty()))
      row.unmeasured.clear();
    else if (row.unmeasured.empty())
      row.unmeasured = !measured.seen && row.value->isGraphInput ? "is handed to a called subgraph"
                       : measured.seen                           ? "has no elements"
                                                                 : "is not computed";
  }
  return rows;
}

} // namespace origo::report
