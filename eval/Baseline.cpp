#include "eval/Baseline.h"

#include "eval/RandomInput.h"
#include "ir/Taint.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval {

namespace {

using Held = Baseline::Held;
using Recording = Baseline::Recording;

/// Runs and keeps what is `wanted`.
llvm::Error record(const Model &model, const Session &session, Baseline::Run &run, State &state,
                   llvm::function_ref<bool(const Value &)> wanted) {
  auto ports = session.inputs(run.signature);
  if (!ports)
    return ports.takeError();
  if (ports->size() != run.inputs.size())
    return makeError("the number of inputs has changed");
  for (auto [port, input] : llvm::zip(*ports, run.inputs))
    run.held[port.value] = {input, 1};
  RunOptions options;
  options.signature = run.signature;
  options.state = &state;
  options.observer = [&](const Operator &, const Value &value, const Tensor &tensor) {
    if (!wanted(value))
      return;
    Held &held = run.held[&value];
    held.tensor = {tensor.type, tensor.shape, {tensor.storage.begin(), tensor.storage.end()}};
    ++held.times;
  };
  std::vector<TensorRef> inputs(run.inputs.begin(), run.inputs.end());
  auto outputs = session.run(inputs, options);
  if (!outputs)
    return outputs.takeError();
  run.outputs = std::move(*outputs);
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (auto bytes = state.variable(*value); bytes && wanted(*value))
        run.held[value] = {{value->type, Shape(value->shape.begin(), value->shape.end()), bytes->vec()}, 1};
  return llvm::Error::success();
}

/// A recorded tensor as what it stands for in the graph; its bytes are not written to.
Tensor view(const OwnedTensor &recorded, const Value &value) {
  Tensor tensor;
  tensor.type = recorded.type;
  tensor.shape = recorded.shape;
  tensor.quantization = value.quantization;
  tensor.value = &value;
  tensor.storage = {const_cast<uint8_t *>(recorded.bytes.data()), recorded.bytes.size()};
  return tensor;
}

/// A tensor that was recorded, or a constant.
class Looked {
public:
  Looked(const Value &value, const Recording &recording) {
    if (auto held = recording.find(&value); held != recording.end()) {
      found = true;
      times = held->second.times;
      tensor = view(held->second.tensor, value);
    } else if (value.isConstant()) {
      if (auto bytes = ConstantBytes::of(value, CompileOptions().memoryLimit)) {
        found = true;
        constant = std::move(*bytes);
        tensor.type = value.type;
        tensor.quantization = value.quantization;
        tensor.value = &value;
        tensor.shape.assign(value.shape.begin(), value.shape.end());
        tensor.storage = constant->bytes;
      } else {
        llvm::consumeError(bytes.takeError());
        why = "a constant is compressed or in another file";
      }
    } else if (value.isGraphInput) {
      why = "an input of a subgraph is compared where it is called";
    }
  }
  bool found = false;
  const char *why = "no output needs it";
  unsigned times = 0; ///< 0: constant
  Tensor tensor;

private:
  std::optional<ConstantBytes> constant;
};

/// Values with relations: constants, then the others in the order of execution.
std::vector<const Value *> relatedValues(const Model &model) {
  std::vector<const Value *> values;
  for (const auto &graph : model.subgraphs) {
    for (const Value *value : graph->values)
      if (!value->producer())
        values.push_back(value);
    for (const Operator &op : graph->operators)
      for (const Value *result : op.results())
        if (result)
          values.push_back(result);
  }
  llvm::erase_if(values, [](const Value *value) { return value->relations.empty(); });
  return values;
}

/// The worst of what several runs say of one pair of tensors; what one cannot check, another may.
void add(Verdict &all, Verdict one) {
  auto grade = [](const Verdict &verdict) {
    switch (verdict.kind) {
    case Verdict::Unchecked:
      return 0;
    case Verdict::Equal:
      return 1;
    case Verdict::Within:
      return 2;
    case Verdict::Deviates:
      return 3;
    }
    return 3;
  };
  if (grade(one) > grade(all) || (grade(one) == 0 && all.text.empty()))
    all = std::move(one);
}

void count(Comparison &comparison, const Verdict &verdict, const Value &value, std::optional<uint32_t> source) {
  switch (verdict.kind) {
  case Verdict::Equal:
    ++comparison.equal;
    break;
  case Verdict::Within:
    ++comparison.within;
    break;
  case Verdict::Deviates:
    comparison.deviations.push_back({&value, source, verdict.text});
    break;
  case Verdict::Unchecked:
    ++comparison.unchecked[verdict.text];
    break;
  }
}

} // namespace

llvm::Expected<Baseline> Baseline::of(Model &model, llvm::ArrayRef<uint32_t> seeds, const CompileOptions &options) {
  auto session = compile(model, options);
  if (!session)
    return session.takeError();
  Baseline baseline;
  baseline.options = options;
  std::vector<std::string> signatures{std::string()};
  for (const Signature &signature : model.signatures)
    if (signature.subgraph != model.subgraphs.front().get())
      signatures.push_back(signature.key.str());
  for (const std::string &signature : signatures) {
    auto ports = session->inputs(signature);
    if (!ports)
      return ports.takeError();
    bool dynamic = llvm::any_of(*ports, [](const Port &p) { return llvm::is_contained(p.shape, -1); });
    State state;
    int32_t unknown = 1;
    for (uint32_t seed : seeds) {
      auto attempt = [&](int32_t dimension) -> llvm::Error {
        Run run{signature, {}};
        for (auto [i, port] : llvm::enumerate(*ports)) {
          auto input = randomInput(port, static_cast<unsigned>(i), seed, dimension);
          if (!input)
            return input.takeError();
          run.inputs.push_back(std::move(*input));
        }
        if (llvm::Error error = record(model, *session, run, state, [](const Value &) { return true; }))
          return error;
        baseline.all.push_back(std::move(run));
        return llvm::Error::success();
      };
      // Dimensions that are not known take another size each time, where the model runs with it.
      llvm::Error error = attempt(unknown);
      if (error && unknown != 1) {
        llvm::consumeError(std::move(error));
        state.reset();
        unknown = 1;
        error = attempt(unknown);
      }
      if (error)
        return error;
      unknown += dynamic;
    }
  }
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      for (const Relation &relation : value->relations)
        if (relation.steps == 0)
          baseline.sources.try_emplace(relation.tensor, value);
  return baseline;
}

llvm::Expected<Comparison> Baseline::compare(Model &result) const {
  auto session = compile(result, options);
  if (!session)
    return session.takeError();
  Taint taint(result);
  std::vector<const Value *> values = relatedValues(result);
  std::vector<llvm::SmallVector<Verdict, 1>> verdicts;
  for (const Value *value : values)
    verdicts.emplace_back(value->relations.size(), Verdict{Verdict::Unchecked});
  std::vector<std::pair<const Value *, Verdict>> outputs;

  std::optional<State> state;
  std::string signature;
  for (const Run &before : all) {
    if (!state || before.signature != signature)
      state.emplace();
    signature = before.signature;
    Run after{signature, before.inputs};
    if (llvm::Error error =
            record(result, *session, after, *state, [](const Value &value) { return !value.relations.empty(); }))
      return error;
    for (size_t i = 0; i < values.size(); ++i) {
      const Value &value = *values[i];
      Looked have(value, after.held);
      for (auto [relation, verdict] : llvm::zip(value.relations, verdicts[i])) {
        auto source = sources.find(relation.tensor);
        if (source == sources.end()) {
          add(verdict, {Verdict::Unchecked, "the source tensor is not in the model that is compared with"});
          continue;
        }
        Looked want(*source->second, before.held);
        if (!have.times && !want.times && verdict.kind != Verdict::Unchecked)
          continue; // two constants were compared in the first run
        if (!have.found || !want.found)
          add(verdict, {Verdict::Unchecked, have.found ? want.why : have.why});
        else if (have.times && want.times && have.times != want.times)
          add(verdict, {Verdict::Unchecked, "its subgraph is called another number of times"});
        else
          add(verdict, checkRelation(want.tensor, result.steps.get(relation.steps), relation.exact && !taint(value),
                                     have.tensor));
      }
    }
    auto ports = session->outputs(signature);
    if (!ports)
      return ports.takeError();
    if (before.outputs.size() != after.outputs.size())
      return makeError("the number of outputs has changed");
    for (size_t i = 0; i < ports->size(); ++i) {
      const Value *value = (*ports)[i].value;
      Verdict verdict =
          checkRelation(view(before.outputs[i].tensor, *value), {}, false, view(after.outputs[i].tensor, *value));
      auto known = llvm::find_if(outputs, [&](const auto &o) { return o.first == value; });
      if (known == outputs.end())
        outputs.push_back({value, std::move(verdict)});
      else
        add(known->second, std::move(verdict));
    }
  }
  Comparison comparison;
  for (size_t i = 0; i < values.size(); ++i)
    for (auto [relation, verdict] : llvm::zip(values[i]->relations, verdicts[i]))
      count(comparison, verdict, *values[i], relation.tensor);
  for (const auto &[value, verdict] : outputs)
    count(comparison, verdict, *value, std::nullopt);
  return comparison;
}

} // namespace origo::eval
