#include "eval/Baseline.h"

#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"
#include "ir/Taint.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>

namespace origo::eval {

namespace {

using Held = Baseline::Held;
using Recording = Baseline::Recording;

/// Runs with what an observer does to the tensors.
llvm::Expected<std::vector<NamedTensor>> execute(const Session &session, llvm::StringRef signature,
                                                 llvm::ArrayRef<OwnedTensor> given, State &state, Observer observer) {
  auto ports = session.inputs(signature);
  if (!ports)
    return ports.takeError();
  if (ports->size() != given.size())
    return makeError("the number of inputs has changed");
  RunOptions options;
  options.signature = signature;
  options.state = &state;
  options.observer = std::move(observer);
  std::vector<TensorRef> inputs(given.begin(), given.end());
  return session.run(inputs, options);
}

/// Runs and keeps what is `wanted`. `after`: what else is done to a tensor when it was kept.
llvm::Error record(const Model &model, const Session &session, Baseline::Run &run, State &state,
                   llvm::function_ref<bool(const Value &)> wanted,
                   llvm::function_ref<void(const Value &, const Held &, Tensor &)> after = nullptr) {
  auto outputs =
      execute(session, run.signature, run.inputs, state, [&](const Operator &, const Value &value, Tensor &tensor) {
        if (!wanted(value))
          return;
        Held &held = run.held[&value];
        held.tensor = {tensor.type, tensor.shape, {tensor.storage.begin(), tensor.storage.end()}};
        ++held.times;
        if (after)
          after(value, held, tensor);
      });
  if (!outputs)
    return outputs.takeError();
  run.outputs = std::move(*outputs);
  auto ports = session.inputs(run.signature);
  if (!ports)
    return ports.takeError();
  for (auto [port, input] : llvm::zip(*ports, run.inputs))
    run.held[port.value] = {input, 1};
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
  return of(model, seeds, nullptr, options);
}

llvm::Expected<Baseline> Baseline::of(Model &model, Given given, const CompileOptions &options) {
  return of(model, {}, given, options);
}

llvm::Expected<Baseline> Baseline::of(Model &model, llvm::ArrayRef<uint32_t> seeds, Given given,
                                      const CompileOptions &options) {
  auto session = compile(model, options);
  if (!session)
    return session.takeError();
  Baseline baseline;
  baseline.model = &model;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      baseline.stateful |= op.effects() != 0 || llvm::any_of(op.operands(), [](const Use &use) {
                             return use.get() && use.get()->isVariable;
                           });
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
    auto add = [&](std::vector<OwnedTensor> inputs) -> llvm::Error {
      Run run{signature, std::move(inputs)};
      if (llvm::Error error = record(model, *session, run, state, [](const Value &) { return true; }))
        return error;
      auto results = session->outputs(signature);
      if (!results)
        return results.takeError();
      for (const Port &port : *results)
        run.ports.push_back(port.value);
      baseline.all.push_back(std::move(run));
      return llvm::Error::success();
    };
    if (given) {
      auto records = given(*ports);
      if (!records)
        return records.takeError();
      for (std::vector<OwnedTensor> &inputs : *records)
        if (llvm::Error error = add(std::move(inputs)))
          return error;
    }
    for (uint32_t seed : seeds) {
      auto attempt = [&](int32_t dimension) -> llvm::Error {
        std::vector<OwnedTensor> inputs;
        for (auto [i, port] : llvm::enumerate(*ports)) {
          auto input = randomInput(port, static_cast<unsigned>(i), seed, dimension);
          if (!input)
            return input.takeError();
          inputs.push_back(std::move(*input));
        }
        return add(std::move(inputs));
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

namespace {

using Values = std::set<const Value *>;

/// How far tensors of the source move where its numbers are off by rounding errors.
using Moved = std::map<const Value *, std::vector<double>>;

/// The source once more, with rounding errors. In a run, each tensor of `anchors` starts from what it holds without
/// them: it is one that a result is compared with, and given, so that errors before it are not counted twice.
class Trial {
public:
  static llvm::Expected<Trial> of(Model &model, const CompileOptions &options, uint64_t seed) {
    Trial trial;
    trial.seed = seed;
    auto session = compileJiggled(model, options, 1, [&](const Value &value) { return trial.seedOf(value); });
    if (!session)
      return session.takeError();
    trial.payloads = std::move(session->payloads);
    trial.session = std::make_unique<Session>(std::move(session->session));
    return trial;
  }

  llvm::Error run(const Baseline::Run &run, State &state, const Values &anchors, const Values &wanted,
                  Moved &moved) const {
    const Recording &clean = run.held;
    std::vector<OwnedTensor> inputs = run.inputs;
    for (auto [i, input] : llvm::enumerate(inputs))
      jiggle(input.type, input.bytes, unitOf(input.type), seed * 31 + i);
    Moved now;
    auto outputs =
        execute(*session, run.signature, inputs, state, [&](const Operator &op, const Value &value, Tensor &tensor) {
          double unit = unitOf(value.type);
          if (unit == 0)
            return;
          auto held = clean.find(&value);
          bool known = held != clean.end();
          if (known && wanted.count(&value))
            now[&value] = distance(held->second.tensor, value, tensor);
          bool anchor = known && anchors.count(&value) && held->second.tensor.bytes.size() == tensor.storage.size();
          if (anchor)
            llvm::copy(held->second.tensor.bytes, tensor.storage.begin());
          if (anchor || !op.info() || !op.info()->has(Trait::DataMovement))
            jiggle(value.type, tensor.storage, anchor ? unit : roundingOf(op, value.type), seedOf(value));
        });
    if (!outputs)
      return outputs.takeError();
    for (const Value *value : wanted) { // what an operator leaves in a variable is none of its results
      auto held = clean.find(value);
      if (auto bytes = value->isVariable ? state.variable(*value) : std::nullopt; bytes && held != clean.end())
        now[value] =
            distance(held->second.tensor, *value, view({value->type, held->second.tensor.shape, bytes->vec()}, *value));
    }
    for (auto &[value, far] : now) {
      std::vector<double> &most = moved[value];
      most.resize(far.size(), 0);
      for (size_t i = 0; i < far.size(); ++i)
        most[i] = std::max(most[i], far[i]);
    }
    return llvm::Error::success();
  }

private:
  Trial() = default;
  uint64_t seed = 0;
  std::vector<Payload> payloads;
  std::unique_ptr<Session> session;

  uint64_t seedOf(const Value &value) const { return (seed * 1009 + value.subgraph()->index) * 1000003 + value.index; }

  /// Nothing where rounding has decided on the shape.
  static std::vector<double> distance(const OwnedTensor &clean, const Value &value, const Tensor &tensor) {
    auto was = storedNumbers(view(clean, value)), is = storedNumbers(tensor);
    if (!was || !is || was->size() != is->size())
      return {};
    for (size_t i = 0; i < was->size(); ++i)
      (*was)[i] = std::fabs((*was)[i] - (*is)[i]);
    return *was;
  }
};

} // namespace

/// Made when the first float is off.
struct Baseline::Trials {
  std::vector<Trial> all;
};

Baseline::Baseline() = default;
Baseline::~Baseline() = default;
Baseline::Baseline(Baseline &&) noexcept = default;

/// How far the tensors may be off that are compared with source tensors `wanted`.
llvm::Expected<std::map<const Value *, Tolerance>> Baseline::tolerances(size_t run, const Values &anchors,
                                                                        const Values &wanted) const {
  if (!trials) {
    trials = std::make_unique<Trials>();
    // Of few numbers it takes many trials to see how far they move.
    uint64_t elements = 0;
    for (const auto &[value, held] : all[run].held)
      elements += value->elementCount().value_or(0);
    for (uint64_t seed = 1; seed <= (elements < 4096 ? 16 : 3); ++seed) {
      auto trial = Trial::of(*model, options, seed);
      if (!trial)
        return trial.takeError();
      trials->all.push_back(std::move(*trial));
    }
  }
  const Run &clean = all[run];
  Moved moved;
  size_t first = run; // what runs before have left in variables is off as well
  while (stateful && first > 0 && all[first - 1].signature == clean.signature)
    --first;
  for (const Trial &trial : trials->all) {
    State state;
    for (size_t i = first; i <= run; ++i)
      if (llvm::Error error = trial.run(all[i], state, anchors, i == run ? wanted : Values(), moved))
        return error;
  }
  std::map<const Value *, Tolerance> made;
  for (const Value *value : wanted) {
    double part = value->producer() ? roundingOf(*value->producer(), value->type) : unitOf(value->type);
    auto held = clean.held.find(value);
    auto far = moved.find(value);
    auto numbers = held == clean.held.end() ? std::nullopt : storedNumbers(view(held->second.tensor, *value));
    if (numbers && far != moved.end() && far->second.size() == numbers->size())
      made.emplace(value, Tolerance::measured(*numbers, far->second, part));
    else
      made.emplace(value, Tolerance(part));
  }
  return made;
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
  auto addOutput = [&](const Value *value, Verdict verdict) {
    auto known = llvm::find_if(outputs, [&](const auto &o) { return o.first == value; });
    if (known == outputs.end())
      outputs.push_back({value, std::move(verdict)});
    else
      add(known->second, std::move(verdict));
  };
  auto related = [](const Value &value) { return !value.relations.empty(); };

  // What has to be judged by a tolerance: a relation of values[i], or, behind the last of them, an output.
  struct Open {
    size_t value, which;
    const Value *source;
  };
  std::optional<State> free, led;
  std::string signature;
  for (size_t number = 0; number < all.size(); ++number) {
    const Run &before = all[number];
    if (!free || before.signature != signature) {
      free.emplace();
      led.emplace();
    }
    signature = before.signature;
    auto ports = session->outputs(signature);
    if (!ports)
      return ports.takeError();

    // By itself: what is said to be exact has to be, and most is.
    Run alone{signature, before.inputs};
    if (llvm::Error error = record(result, *session, alone, *free, related))
      return error;
    if (before.outputs.size() != alone.outputs.size())
      return makeError("the number of outputs has changed");
    std::vector<Open> open;
    for (size_t i = 0; i < values.size(); ++i) {
      const Value &value = *values[i];
      Looked have(value, alone.held);
      for (size_t k = 0; k < value.relations.size(); ++k) {
        const Relation &relation = value.relations[k];
        Verdict &verdict = verdicts[i][k];
        auto source = sources.find(relation.tensor);
        if (source == sources.end()) {
          add(verdict, {Verdict::Unchecked, "the source tensor is not in the model that is compared with"});
          continue;
        }
        Looked want(*source->second, before.held);
        if (!have.times && !want.times && verdict.kind != Verdict::Unchecked)
          continue; // two constants were compared in the first run
        if (!have.found || !want.found) {
          add(verdict, {Verdict::Unchecked, have.found ? want.why : have.why});
          continue;
        }
        if (have.times && want.times && have.times != want.times) {
          add(verdict, {Verdict::Unchecked, "its subgraph is called another number of times"});
          continue;
        }
        Verdict bits =
            checkRelation(want.tensor, withConstants(result.steps.get(relation.steps), sources), nullptr, have.tensor);
        if (bits.kind == Verdict::Deviates && !taint.exact(value, relation))
          open.push_back({i, k, source->second});
        else
          add(verdict, std::move(bits));
      }
    }
    for (size_t i = 0; i < ports->size(); ++i) {
      const Value *value = (*ports)[i].value;
      Verdict bits =
          checkRelation(view(before.outputs[i].tensor, *value), {}, nullptr, view(alone.outputs[i].tensor, *value));
      if (bits.kind == Verdict::Deviates)
        open.push_back({values.size(), i, before.ports[i]});
      else
        addOutput(value, std::move(bits));
    }
    if (open.empty() && !stateful)
      continue;

    // Led: each tensor that stands for one of the source goes on with the source's numbers, so that what is found is
    // the work of the operators behind it, and not what earlier rewrites have left.
    Values anchors, wanted;
    Run after{signature, before.inputs};
    auto lead = [&](const Value &value, const Held &held, Tensor &tensor) {
      // A movement is exact; and what it makes here behind a tensor, the source may have made in front of it.
      const Operator *producer = value.producer();
      if (producer && producer->info() && producer->info()->has(Trait::DataMovement))
        return;
      // Of several, which were computed of each other, the last: what was rounded on the way there counts for it.
      llvm::SmallVector<Relation, 2> relations(value.relations.begin(), value.relations.end());
      llvm::stable_sort(relations, [&](const Relation &a, const Relation &b) {
        return result.sourceGraph.producer(a.tensor) > result.sourceGraph.producer(b.tensor);
      });
      for (const Relation &relation : relations) {
        auto source = sources.find(relation.tensor);
        auto want = source == sources.end() ? before.held.end() : before.held.find(source->second);
        if (want == before.held.end() || want->second.times != 1 || held.times != 1)
          continue;
        Tensor from = view(want->second.tensor, *source->second);
        if (!moveAlong(from, result.steps.get(relation.steps), tensor))
          continue;
        anchors.insert(source->second);
        return;
      }
    };
    if (llvm::Error error = record(result, *session, after, *led, related, lead))
      return error;
    for (const Open &one : open)
      wanted.insert(one.source);
    if (open.empty())
      continue;
    auto tolerance = tolerances(number, anchors, wanted);
    if (!tolerance)
      return tolerance.takeError();
    for (const Open &one : open) {
      const Tolerance &allowed = tolerance->at(one.source);
      if (one.value == values.size()) {
        const Value *value = (*ports)[one.which].value;
        auto held = after.held.find(value); // as it was before it was led
        const OwnedTensor &have = held != after.held.end() ? held->second.tensor : after.outputs[one.which].tensor;
        addOutput(value,
                  checkRelation(view(before.outputs[one.which].tensor, *value), {}, &allowed, view(have, *value)));
        continue;
      }
      const Value &value = *values[one.value];
      Looked have(value, after.held), want(*one.source, before.held);
      Verdict verdict =
          checkRelation(want.tensor, withConstants(result.steps.get(value.relations[one.which].steps), sources),
                        &allowed, have.tensor);
      if (verdict.kind == Verdict::Equal)
        verdict.kind = Verdict::Within; // by itself it was not
      add(verdicts[one.value][one.which], std::move(verdict));
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
