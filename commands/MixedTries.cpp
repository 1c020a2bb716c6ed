#include "commands/Mixed.h"

#include "commands/Files.h"
#include "commands/QuantizeModel.h"
#include "eval/RealNumbers.h"
#include "passes/Pipeline.h"
#include "quantize/Config.h"
#include "report/errors/Live.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace origo::commands {

using namespace quantize;

/// What the scheme asks of a layer.
llvm::Expected<Scheme::Choice> MixedSolver::choiceOf(Level level, llvm::StringRef granularity) const {
  if (request.isUnsigned())
    return oneChoice(request.shown(level), granularity);
  if (granularity != "channel" && granularity != "layer")
    return makeError(door.spell("granularity") + ": \"" + printable(granularity) + "\" is none; give channel or layer");
  Scheme::Choice choice;
  choice.perChannel = choice.perChannelDense = granularity == "channel";
  choice.quantize = level != Level::Float;
  if (level == Level::Int16) {
    choice.activations = TensorType::INT16;
    choice.bias = TensorType::INT64;
  }
  return choice;
}

static bool isQuantized(const Model &model) {
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if ((value->producer() || value->isGraphInput) && value->type != TensorType::FLOAT32 && value->quantization &&
          value->quantization->quantized())
        return true;
  return false;
}

static bool hasRanges(const Model &model) {
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (value->producer() && value->quantization && !value->quantization->min.empty())
        return true;
  return false;
}

llvm::Error MixedSolver::unpack(Imported &loaded) {
  return request.isUnsigned() ? llvm::Error::success() : unpackConstants(*loaded.model, store, false);
}

llvm::Expected<Imported> MixedSolver::read() {
  llvm::Expected<Imported> loaded = load(request.input, {}, store, door);
  if (loaded)
    if (llvm::Error error = unpack(*loaded))
      return inFile(request.input, std::move(error));
  return loaded;
}

llvm::Error MixedSolver::open() {
  if (llvm::Error error = door.checkFiles(request.input, request.output))
    return error;
  auto loaded = read();
  if (!loaded)
    return loaded.takeError();
  original = std::move(*loaded);
  if (isQuantized(*original.model))
    return inFile(request.input, makeError("has integers with scales already; give the float model"));
  auto choice = choiceOf(Level::Int8, request.granularity);
  if (!choice)
    return choice.takeError();
  scheme.dialect = request.isUnsigned() ? Dialect::One : Dialect::Tflite;
  scheme.common = *choice;
  scheme.poolKeepsScale = request.tfMaxPool;
  return llvm::Error::success();
}

llvm::Error MixedSolver::takeRanges() {
  if (hasRanges(*original.model))
    return llvm::Error::success();
  if (request.data.data.empty())
    return inFile(request.input,
                  makeError("no tensor has a range: run record-minmax first, or give " + door.spell("data")));
  door.phase("executing");
  auto taken = calibrate(
      *original.model, [&](llvm::ArrayRef<eval::Port> ports, llvm::StringRef) { return request.data.open(ports, ""); });
  if (!taken)
    return taken.takeError();
  statistics = std::move(*taken);
  return llvm::Error::success();
}

/// Ends that stay floats are compared; the scheme's own are for the file.
llvm::Error MixedSolver::quantize(Imported &imported, const Levels &levels, bool floatEnds) {
  Model &model = *imported.model;
  if (statistics) {
    std::vector<std::string> silent;
    // As whoever takes the recipe, or the configuration and record-minmax, has them.
    quantize::Summary summary = scheme.dialect == Dialect::Tflite ? wholeRange : quantize::Summary();
    if (llvm::Error error = setRanges(model, *statistics, {summary}, silent))
      return error;
  }
  Scheme asked = scheme;
  for (auto [op, level] : llvm::zip_equal(graph().operators, levels)) {
    if (level == Level::Int8 || nameOf(op).empty())
      continue;
    auto choice = choiceOf(level, "channel");
    if (!choice)
      return choice.takeError();
    asked.layers[nameOf(op)] = *choice;
  }
  if (floatEnds)
    asked.inputs = asked.outputs = {TensorType::FLOAT32};
  if (llvm::Error error = runPipeline(model, Pipeline::quantization(planBy(asked)), store, {}))
    return error;
  if (!request.saveMinMax)
    clearRanges(model);
  return llvm::Error::success();
}

/// Floats that are rounded to what the integers hold, between ends that are not: they are as far off as the integers,
/// for which runtimes have few kernels where weights have 16 bits.
llvm::Expected<eval::Session> MixedSolver::fake(Imported &faked, const Levels &levels) {
  auto loaded = read();
  if (!loaded)
    return loaded.takeError();
  faked = std::move(*loaded);
  Scheme fake;
  fake.dialect = scheme.dialect;
  fake.common.mode = Scheme::Mode::Fake;
  llvm::Error failed = quantize(faked, levels, true);
  if (!failed)
    failed = runPipeline(*faked.model, Pipeline::quantization(planBy(fake)), store, {});
  if (failed)
    return failed;
  return eval::compile(*faked.model, {.engine = eval::Engine::Fast});
}

/// Notes what a try has come to.
llvm::Expected<double> MixedSolver::kept(const Levels &levels, llvm::Expected<double> error) {
  if (!error)
    return error;
  auto all = [&](Level level) { return llvm::all_of(levels, [&](Level one) { return one == level; }); };
  std::string number = all(Level::Int8) ? "Q8" : all(Level::Int16) ? "Q16" : std::to_string(++tried);
  if (llvm::Error failed = keep(number, levels, *error))
    return failed;
  return error;
}

/// What the layers are off, as ONE's tool measures it: the ends stay floats.
llvm::Expected<double> MixedSolver::insideErrorOf(const Levels &levels) {
  door.phase("executing");
  Imported faked;
  auto session = fake(faked, levels);
  if (!session)
    return session.takeError();
  return kept(levels, distance(*session));
}

/// What the model is off that is written for these levels, ends and all. `runs`: by running it, where there are kernels
/// for all of it; else by its insides in floats, between its ends.
llvm::Expected<double> MixedSolver::writtenErrorOf(const Levels &levels, bool runs) {
  if (auto known = measured.find({levels, runs}); known != measured.end())
    return known->second;
  door.phase("executing");
  auto written = read();
  if (!written)
    return written.takeError();
  if (llvm::Error failed = quantize(*written, levels, false))
    return failed;
  llvm::Expected<double> error = runs ? runWritten(*written->model) : llvm::Expected<double>(NAN);
  if (!error || !runs) {
    llvm::consumeError(error.takeError());
    Imported faked;
    auto inside = fake(faked, levels);
    if (!inside)
      return inside.takeError();
    error = distance(*inside, written->model->subgraphs.front().get());
  }
  auto noted = kept(levels, std::move(error));
  if (noted)
    measured[{levels, runs}] = *noted;
  return noted;
}

llvm::Expected<double> MixedSolver::runWritten(Model &model) {
  auto session = eval::compile(model, {.engine = eval::Engine::Fast});
  if (!session)
    return session.takeError();
  return distance(*session);
}

/// A tensor's real numbers as another one stores them; none: it cannot.
static std::optional<eval::OwnedTensor> storedAs(eval::OwnedTensor given, const Value &from, const Value &to) {
  auto numbers = eval::realNumbers(given, from.quantization);
  if (!numbers)
    return std::nullopt;
  eval::OwnedTensor made{to.type, given.shape, {}};
  made.bytes.resize(numbers->size() * bitsPerElement(to.type).value_or(0) / 8);
  eval::Tensor view = report::viewOf(to, made);
  return eval::storeNumbers(view, *numbers) ? std::optional(std::move(made)) : std::nullopt;
}

/// What elements of the outputs are off: the mean over elements, and of that over outputs and records. `ends`: inputs
/// and outputs that numbers pass on their way into the session and out of it.
llvm::Expected<double> MixedSolver::distance(const eval::Session &session, const Subgraph *ends) {
  auto ports = reference->inputs(), inputs = session.inputs(), outputs = session.outputs(),
       wanted = reference->outputs();
  if (!ports || !inputs || !outputs || !wanted)
    return firstError(ports, inputs, outputs, wanted);
  double sum = 0;
  uint64_t count = 0;
  for (uint64_t i = 0; i < records->count(); ++i) {
    auto record = records->read(i);
    if (!record)
      return record.takeError();
    std::vector<eval::OwnedTensor> given;
    for (size_t k = 0; k < record->size(); ++k) {
      const Value &from = *(*ports)[k].value, &to = *(*inputs)[k].value, &end = ends ? *ends->inputs[k] : to;
      std::optional<eval::OwnedTensor> tensor = (*record)[k];
      if (end.type != from.type)
        tensor = storedAs(std::move(*tensor), from, end);
      if (tensor && end.type != to.type)
        tensor = storedAs(std::move(*tensor), end, to);
      if (!tensor)
        return makeError("input \"" + printable((*ports)[k].name) + "\" cannot be given to the quantised model");
      given.push_back(std::move(*tensor));
    }
    auto want = reference->run(std::vector<eval::TensorRef>(record->begin(), record->end()));
    auto have = session.run(std::vector<eval::TensorRef>(given.begin(), given.end()));
    if (!want || !have)
      return firstError(want, have);
    for (size_t k = 0; k < want->size(); ++k) {
      if ((*want)[k].tensor.type != TensorType::FLOAT32)
        continue;
      const Value &is = *(*outputs)[k].value;
      std::optional<eval::OwnedTensor> got = (*have)[k].tensor;
      if (ends && ends->outputs[k]->type != is.type)
        got = storedAs(std::move(*got), is, *ends->outputs[k]);
      auto x = eval::realNumbers((*want)[k].tensor, nullptr);
      auto y = got ? eval::realNumbers(*got, (ends ? *ends->outputs[k] : is).quantization) : std::nullopt;
      if (!x || !y || x->size() != y->size())
        return makeError("output \"" + printable((*want)[k].name) + "\" cannot be compared with the quantised model's");
      double off = 0;
      for (auto [right, other] : llvm::zip_equal(*x, *y))
        off += std::fabs(right - other);
      sum += x->empty() ? 0 : off / static_cast<double>(x->size());
      ++count;
    }
  }
  if (!count)
    return inFile(request.input, makeError("has no request.output of floats, so that nothing can be compared"));
  return sum / static_cast<double>(count);
}

} // namespace origo::commands
