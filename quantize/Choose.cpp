#include "quantize/Choose.h"

#include "eval/RunOperator.h"
#include "quantize/Clips.h"
#include "quantize/Parameters.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>

namespace origo::quantize {

using namespace eval;

constexpr uint64_t mostRecords = 4;

namespace {

struct Candidate {
  const Calibrator *calibrator;
  Extremes range;
  double error = 0;
};

OwnedTensor rounded(const OwnedTensor &tensor, Extremes range, unsigned steps) {
  bool narrow = steps < 256;
  Parameters parameters = activationParameters(range, narrow ? TensorType::INT8 : TensorType::INT16, Dialect::Tflite);
  float least = narrow ? -128 : -32767, most = narrow ? 127 : 32767, zero = static_cast<float>(parameters.zeroPoint);
  OwnedTensor result = tensor;
  auto *at = reinterpret_cast<float *>(result.bytes.data());
  for (size_t i = 0; i < result.bytes.size() / sizeof(float); ++i)
    at[i] = (std::clamp(std::round(at[i] / parameters.scale) + zero, least, most) - zero) * parameters.scale;
  return result;
}

/// What lives during a record, and what each candidate does to the operators that read it.
class Trial {
public:
  Trial(Model &model, const Statistics &statistics, const Summary &base) : steps(base.steps) {
    for (const Statistics::Tensor &tensor : statistics.tensors) {
      const Value *value = model.subgraphs[tensor.subgraph]->values[tensor.index];
      std::vector<Candidate> &list = candidates[value];
      for (const Calibrator &calibrator : calibrators()) {
        Summary one = base;
        one.calibrator = &calibrator;
        Extremes range = summarise(tensor, one);
        bool known = llvm::any_of(
            list, [&](const Candidate &other) { return other.range.min == range.min && other.range.max == range.max; });
        if (!range.empty() && !known)
          list.push_back({&calibrator, range});
      }
    }
    for (auto &graph : model.subgraphs)
      for (Operator &op : graph->operators)
        for (unsigned i = 0; i < op.numOperands(); ++i)
          if (op.operand(i))
            ++uses[op.operand(i)];
  }

  void see(const Value &value, const OwnedTensor &tensor) {
    if (uses.lookup(&value) > 0)
      live[&value] = {tensor, uses.lookup(&value)};
  }
  void see(const Operator &op, const Value &value, const Tensor &tensor) {
    attempt(op);
    for (unsigned i = 0; i < op.numOperands(); ++i)
      if (auto found = live.find(op.operand(i)); found != live.end() && --found->second.uses == 0)
        live.erase(found);
    see(value, {tensor.type, tensor.shape, {tensor.storage.begin(), tensor.storage.end()}});
  }
  void endRecord() { live.clear(); }

  const Calibrator *choice(const Value &value, const Statistics::Tensor &tensor) const {
    const std::vector<Candidate> &list = candidates.find(&value)->second;
    if (list.empty())
      return calibrators().data();
    Extremes all = list.front().range; // that of minimum and maximum
    bool read = attempted.lookup(&value);
    auto error = [&](const Candidate &one) {
      return read ? one.error : meanSquare(tensor.histogram, all, one.range, steps);
    };
    return std::min_element(list.begin(), list.end(),
                            [&](const Candidate &a, const Candidate &b) { return error(a) < error(b); })
        ->calibrator;
  }

private:
  struct Living {
    OwnedTensor tensor;
    unsigned uses = 0;
  };
  unsigned steps;
  llvm::DenseMap<const Value *, std::vector<Candidate>> candidates;
  llvm::DenseMap<const Value *, unsigned> uses;
  llvm::DenseMap<const Value *, bool> attempted;
  llvm::DenseMap<const Value *, Living> live;

  void attempt(const Operator &op) {
    if (op.results().size() != 1 || !op.result(0) || op.result(0)->type != TensorType::FLOAT32 || op.effects() != 0)
      return;
    std::vector<TensorRef> tensors(op.numOperands());
    std::vector<const TensorRef *> given(op.numOperands());
    for (unsigned i = 0; i < op.numOperands(); ++i)
      if (auto found = live.find(op.operand(i)); op.operand(i) && found != live.end()) {
        tensors[i] = found->second.tensor;
        given[i] = &tensors[i];
      }
    std::optional<OwnedTensor> right;
    for (unsigned i = 0; i < op.numOperands(); ++i) {
      auto tried = candidates.find(op.operand(i));
      if (!given[i] || tried == candidates.end() || tried->second.size() < 2)
        continue;
      if (!right) {
        auto computed = runOperator(op, given);
        if (!computed) { // an operand that is not at hand, or no kernel
          llvm::consumeError(computed.takeError());
          return;
        }
        right = std::move(computed->front());
      }
      for (Candidate &one : tried->second) {
        OwnedTensor changed = rounded(live.find(op.operand(i))->second.tensor, one.range, steps);
        TensorRef ref = changed;
        std::vector<const TensorRef *> with = given;
        for (unsigned k = 0; k < op.numOperands(); ++k) // x * x reads it twice
          if (op.operand(k) == op.operand(i))
            with[k] = &ref;
        auto computed = runOperator(op, with);
        if (!computed) {
          llvm::consumeError(computed.takeError());
          return;
        }
        one.error += relativeSquares(*right, computed->front());
        attempted[op.operand(i)] = true;
      }
    }
  }

  static double relativeSquares(const OwnedTensor &right, const OwnedTensor &have) {
    auto *a = reinterpret_cast<const float *>(right.bytes.data()),
         *b = reinterpret_cast<const float *>(have.bytes.data());
    double off = 0, all = 0;
    for (size_t i = 0; i < std::min(right.bytes.size(), have.bytes.size()) / sizeof(float); ++i)
      if (std::isfinite(a[i]) && std::isfinite(b[i])) {
        off += std::pow(double(a[i]) - b[i], 2);
        all += double(a[i]) * a[i];
      }
    return all > 0 ? off / all : off;
  }
};

} // namespace

llvm::Expected<Summaries> chooseSummaries(Model &model, const Statistics &statistics, const Summary &base,
                                          OpenRecords open, const CalibrateOptions &options) {
  if (!statistics.histograms)
    return makeError("the statistics have no histograms, which this calibrator needs: record them with --histograms");
  auto session = compile(model, options.compile);
  if (!session)
    return session.takeError();
  if (llvm::Error error = checkStatistics(model, statistics))
    return error;
  Trial trial(model, statistics, base);
  RunOptions run;
  run.onlyReads = true;
  run.observer = [&](const Operator &op, const Value &value, const Tensor &tensor) { trial.see(op, value, tensor); };
  std::vector<std::string> signatures = session->signatures();
  if (signatures.empty())
    signatures.emplace_back();
  for (const std::string &signature : signatures) {
    auto ports = session->inputs(signature);
    if (!ports)
      return ports.takeError();
    auto records = open(*ports, signatures.size() > 1 ? llvm::StringRef(signature) : llvm::StringRef());
    if (!records)
      return records.takeError();
    for (uint64_t i = 0; i < std::min((*records)->count(), mostRecords); ++i) {
      auto inputs = (*records)->read(i);
      if (!inputs)
        return inputs.takeError();
      for (auto [input, port] : llvm::zip_equal(*inputs, *ports))
        trial.see(*port.value, input);
      State state;
      run.state = &state;
      run.signature = signature;
      auto outputs = session->run(std::vector<TensorRef>(inputs->begin(), inputs->end()), run);
      if (!outputs)
        return makeError("record " + llvm::Twine(i) + ": " + llvm::toString(outputs.takeError()));
      trial.endRecord();
    }
  }
  Summaries summaries;
  summaries.all = base;
  summaries.all.calibrator = calibrators().data();
  for (const Statistics::Tensor &tensor : statistics.tensors) {
    Summary one = base;
    one.calibrator = trial.choice(*model.subgraphs[tensor.subgraph]->values[tensor.index], tensor);
    summaries.named.emplace(tensor.name, one);
  }
  return summaries;
}

} // namespace origo::quantize
