#include "quantize/Calibrate.h"

#include "eval/Dense.h"
#include "quantize/Recurrent.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>

namespace origo::quantize {

using namespace eval;

namespace {

std::optional<Extremes> extremesOf(const Value &constant) {
  if (!isDense(&constant) || constant.type != TensorType::FLOAT32)
    return std::nullopt;
  auto bytes = ConstantBytes::of(constant, CompileOptions().memoryLimit);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return std::nullopt;
  }
  return quantize::extremesOf({reinterpret_cast<const float *>(bytes->bytes.data()), bytes->bytes.size() / 4});
}

/// The rows of a record while it runs.
class Rows {
public:
  explicit Rows(Model &model, Statistics &statistics) : model(model), statistics(statistics) {
    model.number();
    llvm::DenseSet<const Value *> within;
    for (auto &graph : model.subgraphs)
      for (const Operator &op : graph->operators)
        for (const Value *value : valuesWithin(op))
          within.insert(value);
    for (auto &graph : model.subgraphs)
      for (Value *value : graph->values)
        if (value->type == TensorType::FLOAT32 &&
            (value->producer() || value->isGraphInput || within.contains(value))) {
          slots[value] = statistics.tensors.size();
          statistics.tensors.push_back({graph->index, value->index, value->name.str(), {}, {}});
        }
    now.resize(statistics.tensors.size());
    for (auto &graph : model.subgraphs)
      for (Operator &op : graph->operators) {
        for (Subgraph *callee : op.callees())
          connect(op, *callee);
        if (keepsElements(op))
          hand(op.operand(0), op.result(0), true);
      }
    // What is moved only has been looked at where it was computed.
    for (const Handed &one : handed)
      if (one.moved)
        unseen.insert(one.to);
  }

  void see(const Value &value, llvm::ArrayRef<float> elements) {
    auto slot = slots.find(&value);
    if (slot == slots.end() || unseen.contains(slot->second))
      return;
    now[slot->second].join(quantize::extremesOf(elements));
    if (statistics.histograms)
      statistics.tensors[slot->second].histogram.add(elements);
  }

  void endRecord() {
    // What is handed to a called subgraph has been seen where it was computed.
    for (size_t round = 0; round <= model.subgraphs.size(); ++round)
      for (const Handed &one : handed)
        now[one.to].join(one.from ? now[*one.from] : one.constant);
    for (size_t i = 0; i < now.size(); ++i) {
      // An infinity is not a number to quantise by.
      bool finite = std::isfinite(now[i].min) && std::isfinite(now[i].max);
      statistics.tensors[i].rows.push_back(finite ? now[i] : Extremes());
      now[i] = {};
    }
  }

  void end() {
    if (!statistics.histograms)
      return;
    auto &tensors = statistics.tensors;
    std::vector<Histogram> seen;
    for (const Handed &one : handed)
      seen.push_back(!one.moved && one.from ? tensors[*one.from].histogram : Histogram());
    for (auto [one, histogram] : llvm::zip_equal(handed, seen))
      if (!one.moved)
        tensors[one.to].histogram.add(histogram);
    for (const Handed &one : handed)
      if (one.moved)
        tensors[one.to].histogram = tensors[*one.from].histogram;
  }

private:
  /// What one tensor holds is the other's, element by element.
  struct Handed {
    size_t to;
    std::optional<size_t> from;
    Extremes constant = {};
    bool moved = false; ///< by an operator; else by a call, and then it may come from several
  };
  Model &model;
  Statistics &statistics;
  llvm::DenseMap<const Value *, size_t> slots;
  std::vector<Extremes> now;
  std::vector<Handed> handed;
  llvm::DenseSet<size_t> unseen;

  static bool keepsElements(const Operator &op) {
    switch (op.code) {
    case BuiltinOperator::RESHAPE:
    case BuiltinOperator::SQUEEZE:
    case BuiltinOperator::EXPAND_DIMS:
    case BuiltinOperator::TRANSPOSE:
    case BuiltinOperator::DEPTH_TO_SPACE:
    case BuiltinOperator::SPACE_TO_DEPTH:
    case BuiltinOperator::REVERSE_V2:
      return true;
    default:
      return false;
    }
  }

  void hand(const Value *from, const Value *to, bool moved = false) {
    auto target = slots.find(to);
    if (!from || target == slots.end())
      return;
    if (auto source = slots.find(from); source != slots.end())
      handed.push_back({target->second, source->second, {}, moved});
    else if (moved)
      return;
    else if (std::optional<Extremes> constant = extremesOf(*from))
      handed.push_back({target->second, std::nullopt, *constant});
  }

  void connect(const Operator &op, const Subgraph &callee) {
    unsigned first = op.code == BuiltinOperator::IF ? 1 : 0; // the condition stays outside
    for (size_t i = 0; i < callee.inputs.size(); ++i) {
      hand(op.operand(first + i), callee.inputs[i]);
      if (op.code == BuiltinOperator::WHILE)
        if (Subgraph *body = op.callees().back(); i < body->outputs.size())
          hand(body->outputs[i], callee.inputs[i]);
    }
  }
};

} // namespace

llvm::Error forEachRecord(Model &model, const Session &session, OpenRecords open, const CalibrateOptions &options,
                          SeeTensor see, llvm::function_ref<void(uint64_t record, uint64_t count)> end) {
  struct Source {
    std::string signature;
    llvm::ArrayRef<Port> ports;
    std::unique_ptr<Records> records;
  };
  std::vector<Source> sources;
  std::vector<std::string> signatures = options.signatures.empty() ? session.signatures() : options.signatures;
  if (signatures.empty())
    signatures.emplace_back();
  for (const std::string &signature : signatures) {
    auto ports = session.inputs(signature);
    if (!ports)
      return ports.takeError();
    auto records = open(*ports, signatures.size() > 1 ? llvm::StringRef(signature) : llvm::StringRef());
    if (!records)
      return records.takeError();
    sources.push_back({signature, *ports, std::move(*records)});
  }
  RunOptions run;
  run.onlyReads = true;
  run.observer = [&](const Operator &, const Value &value, const Tensor &tensor) {
    if (tensor.type == TensorType::FLOAT32)
      see(value, tensor.shape, tensor.as<float>());
  };
  run.within = [&](const Operator &, const Value &value, llvm::ArrayRef<float> numbers) {
    see(value, value.shape, numbers);
  };
  const Shard &shard = options.shard;
  bool resets = remembers(model);
  State state;
  uint64_t count = 0;
  for (const Source &source : sources)
    count = std::max(count, source.records->count());
  for (uint64_t i = shard.part - 1; i < count; i += shard.parts) {
    if (resets)
      state.reset(); // records know nothing of each other
    run.state = &state;
    for (const Source &source : sources) {
      if (i >= source.records->count())
        continue;
      auto inputs = source.records->read(i);
      if (!inputs)
        return inputs.takeError();
      for (auto [input, port] : llvm::zip_equal(*inputs, source.ports))
        if (input.type == TensorType::FLOAT32)
          see(*port.value, input.shape, {reinterpret_cast<const float *>(input.bytes.data()), input.bytes.size() / 4});
      run.signature = source.signature;
      auto outputs = session.run(std::vector<TensorRef>(inputs->begin(), inputs->end()), run);
      if (!outputs)
        return makeError("record " + llvm::Twine(i) + ": " + llvm::toString(outputs.takeError()));
    }
    end(i, count);
  }
  return llvm::Error::success();
}

llvm::Expected<Statistics> calibrate(Model &model, OpenRecords open, const CalibrateOptions &options) {
  auto session = compile(model, options.compile);
  if (!session)
    return session.takeError();
  Statistics statistics;
  statistics.histograms = options.histograms;
  statistics.engine = engineText(*session, options.compile.engine);
  Rows rows(model, statistics);
  auto see = [&](const Value &value, llvm::ArrayRef<int32_t>, llvm::ArrayRef<float> numbers) {
    rows.see(value, numbers);
  };
  auto end = [&](uint64_t record, uint64_t count) {
    rows.endRecord();
    statistics.records.push_back(record);
    if (options.progress)
      options.progress(record + 1, count);
  };
  if (llvm::Error error = forEachRecord(model, *session, open, options, see, end))
    return error;
  rows.end();
  return statistics;
}

} // namespace origo::quantize
