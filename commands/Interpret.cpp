#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Records.h"
#include "commands/Related.h"
#include "commands/RunProfile.h"
#include "commands/RunsInTurn.h"
#include "eval/Npy.h"
#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"
#include "export/Writer.h"
#include "schema/RunFiles.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

namespace origo::commands {

using namespace eval;

namespace {

/// Runs a model.
struct InterpretRequest {
  std::string inputs, outputs, saveInputs, tap, source, tapSource, swap, signature, against, failIfSlower, peak;
  std::optional<unsigned> seed, runs, timeout;
  std::optional<std::string> profile; ///< empty: it is printed
  std::string trace;
  Engine engine = Engine::Reference;
  unsigned threads = 1;
  bool json = false, kernels = false;
};

constexpr std::array interpretRows{
    option<&InterpretRequest::inputs>(
        "inputs", "DIR", "Reads inputs from .npy files there, named like the input (/ becomes _) or 0.npy, 1.npy, …"),
    option<&InterpretRequest::seed>("seed", "N", "Random inputs instead of files"),
    option<&InterpretRequest::outputs>("outputs", "DIR", "Writes outputs as .npy files there, named like inputs"),
    option<&InterpretRequest::saveInputs>("save-inputs", "PREFIX",
                                          "Writes the inputs it runs on to PREFIX0, PREFIX1, …: bare elements"),
    option<&InterpretRequest::tap>(
        "tap", "DIR",
        "Writes every tensor that is computed to DIR/SUBGRAPH_TENSOR, as .npy where inputs or outputs are"),
    option<&InterpretRequest::source>("source", "MODEL", "What the model was made from, for --tap-source and --swap"),
    option<&InterpretRequest::tapSource>("tap-source", "DIR",
                                         "Like --tap, but every tensor of the source: what is not computed any more is "
                                         "recovered from the nearest tensors that are"),
    option<&InterpretRequest::swap>("swap", "LAYERS",
                                    "Runs these source operators in place of what became of them, in the words of "
                                    "circle-quantizer --keep-float, separated by commas"),
    option<&InterpretRequest::profile>("profile", "FILE.json",
                                       "Prints the time that each operator takes and its origins, or writes a trace "
                                       "for chrome://tracing",
                                       {.bare = true, .writes = true}),
    option<&InterpretRequest::trace>("trace", "FILE.json",
                                     "Writes a trace for Perfetto and chrome://tracing: what ran when on which thread, "
                                     "for which layers of the source, and the memory that was live. Like "
                                     "--profile=FILE.json; beside --profile, of the last run",
                                     {.writes = true}),
    option<&InterpretRequest::engine>("engine", "", "What computes:"),
    option<&InterpretRequest::threads>("threads", "N",
                                       "Of --engine=fast; 0, and more than there are processors: all of them"),
    option<&InterpretRequest::signature>("signature", "NAME", "Runs this signature of the model (default: subgraph 0)"),
    option<&InterpretRequest::runs>("runs", "N",
                                    "Runs N times more, and prints the median time and the spread; of --profile: as "
                                    "many as its medians need"),
    option<&InterpretRequest::against>(
        "against", "MODEL",
        "With --profile: runs this model in turn with the other one, and tells which layers "
        "became slower or faster, and which differences are noise"),
    option<&InterpretRequest::failIfSlower>(
        "fail-if-slower", "PERCENT",
        "With --against: exit status 2 where a run takes so much longer, and that is "
        "no noise"),
    option<&InterpretRequest::peak>(
        "peak", "GMACS,GBS",
        "What this machine can do at most, for --profile to compare with: multiply-accumulates "
        "and bytes a second, in thousands of millions (default: measured, of --engine=fast)"),
    option<&InterpretRequest::timeout>("timeout", "SECONDS", "Gives up after that many seconds"),
    option<&InterpretRequest::json>("json", "Prints outputs, and what --runs and --profile tell, as JSON"),
    option<&InterpretRequest::kernels>("kernels", "Prints the operators and types that can be run"),
};

/// A dimension that is not known is what the size of the file makes it.
llvm::Expected<OwnedTensor> readRaw(const Port &port, const std::string &path) {
  auto file = openFile(path);
  if (!file)
    return file.takeError();
  OwnedTensor tensor{port.type, port.shape, {}};
  tensor.bytes.assign((*file)->getBuffer().bytes_begin(), (*file)->getBuffer().bytes_end());
  int unknown = -1;
  uint64_t others = 1;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] < 0 && unknown < 0)
      unknown = static_cast<int>(i);
    else if (tensor.shape[i] < 0)
      tensor.shape[i] = 1;
    else if (__builtin_mul_overflow(others, static_cast<uint64_t>(tensor.shape[i]), &others))
      return makeError(printable(path) + ": the input has an impossible shape");
  }
  auto bits = bitsPerElement(port.type);
  if (unknown >= 0)
    tensor.shape[unknown] = bits && others ? static_cast<int32_t>(tensor.bytes.size() * 8 / *bits / others) : 0;
  return tensor;
}

llvm::Error writeNpy(const std::string &path, TensorType type, const Shape &shape, llvm::ArrayRef<uint8_t> bytes) {
  return writeFile(path + ".npy", [&](llvm::raw_ostream &os) {
    os << npyHeader(type, shape, bytes.size()) << llvm::toStringRef(bytes);
    return llvm::Error::success();
  });
}

/// The name of a tensor as that of a file; none where it cannot be one.
std::optional<std::string> fileName(const Port &port) {
  std::string name = port.name;
  std::replace(name.begin(), name.end(), '/', '_');
  bool plain =
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("._-+:;,=@ ()[]").contains(c); });
  if (name.empty() || name.size() > 200 || name[0] == '.' || !plain)
    return std::nullopt;
  return name;
}

/// A run of one model, as it is asked for.
struct Interpreter {
  const InterpretRequest &request;
  const Door &door;
  std::string model, inPrefix, outPrefix; ///< empty prefixes: the request has the inputs; outputs are shown
  llvm::json::Object told = {};           ///< what --json prints

  llvm::Error run();
  llvm::Error runInTurn(double failIfSlower, Verdict &verdict);

private:
  CompileOptions compileOptions() const;
  llvm::Expected<std::vector<OwnedTensor>> inputsOf(const Session &session) const;
  bool tracesOnly() const { return !request.profile.value_or("").empty(); } ///< to a file, and prints no profile
  RunProfile::Traces traces() const {
    return tracesOnly()             ? RunProfile::Traces::AllRuns
           : !request.trace.empty() ? RunProfile::Traces::LastRun
                                    : RunProfile::Traces::Nothing;
  }
  llvm::Expected<OwnedTensor> readNpyInput(const Port &port, unsigned position) const;
  llvm::Error writeNpyOutputs(llvm::ArrayRef<Port> ports, llvm::ArrayRef<NamedTensor> outputs) const;
  void summarise(llvm::ArrayRef<Port> ports, llvm::MutableArrayRef<NamedTensor> outputs);
  llvm::Error measure(const Session &session, llvm::ArrayRef<TensorRef> inputs, llvm::ArrayRef<Port> ports,
                      llvm::MutableArrayRef<NamedTensor> outputs, const RunOptions &run, RunProfile *profiled);
  llvm::Error writeProfile(const RunProfile &times, const Session &session);
  llvm::Error writeOutputs(llvm::ArrayRef<Port> results, llvm::MutableArrayRef<NamedTensor> outputs);
  llvm::Error writeTap(const std::string &folder, const Value &value, const Tensor &tensor) const;
  llvm::Expected<std::vector<NamedTensor>> runWithSource(const std::vector<OwnedTensor> &inputs,
                                                         const CompileOptions &options) const;
};

llvm::Expected<OwnedTensor> Interpreter::readNpyInput(const Port &port, unsigned position) const {
  std::string folder = request.inputs + "/", index = folder + std::to_string(position) + ".npy";
  auto name = fileName(port);
  std::string path = name && llvm::sys::fs::exists(folder + *name + ".npy") ? folder + *name + ".npy" : index;
  auto file = readInput(path);
  if (!file)
    return makeError("input " + llvm::Twine(position) + " \"" + printable(port.name) + "\": there is no " +
                     (name ? printable(folder + *name + ".npy") + " and no " : "") + printable(index) + ": " +
                     file.getError().message());
  llvm::StringRef bytes = (*file)->getBuffer();
  auto tensor = readNpy({bytes.bytes_begin(), bytes.size()});
  if (!tensor)
    return inFile(path, tensor.takeError());
  if (tensor->type != port.type)
    return makeError(printable(path) + ": is " + tensorTypeName(tensor->type) + ", the input is " +
                     tensorTypeName(port.type) + "; write it with array.astype(numpy." +
                     tensorTypeName(port.type).lower() + ")");
  if (port.rankKnown && tensor->shape.size() + 1 == port.shape.size() && port.shape[0] == 1)
    tensor->shape.insert(tensor->shape.begin(), 1); // an image, or a sentence, of a batch of one
  bool fits = !port.rankKnown || tensor->shape.size() == port.shape.size();
  for (size_t i = 0; fits && port.rankKnown && i < port.shape.size(); ++i)
    fits = port.shape[i] < 0 || port.shape[i] == tensor->shape[i];
  if (!fits)
    return makeError(printable(path) + ": is of shape " + shapeText(tensor->shape) + ", the input of " +
                     shapeText(port.shape) + "; array.reshape or array[numpy.newaxis] may make it so");
  return tensor;
}

llvm::Error Interpreter::writeNpyOutputs(llvm::ArrayRef<Port> ports, llvm::ArrayRef<NamedTensor> outputs) const {
  if (llvm::Error error = makeFolder(request.outputs))
    return error;
  llvm::StringMap<unsigned> count;
  for (const Port &port : ports)
    if (auto name = fileName(port))
      ++count[*name];
  std::string written;
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto name = fileName(ports[i]);
    if (!name || count[*name] > 1)
      for (name = std::to_string(i); count.contains(*name);) // another one is called so
        name = "#" + *name;
    const OwnedTensor &tensor = outputs[i].tensor;
    std::string path = request.outputs + "/" + *name;
    if (llvm::Error error = writeNpy(path, tensor.type, tensor.shape, tensor.bytes))
      return error;
    written += (written.empty() ? "" : ", ") + printable(path, 300) + ".npy";
  }
  door.note("wrote " + written);
  return llvm::Error::success();
}

/// A line an output, or an object, for those who want to see that it runs.
void Interpreter::summarise(llvm::ArrayRef<Port> ports, llvm::MutableArrayRef<NamedTensor> outputs) {
  llvm::json::Array list;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OwnedTensor &output = outputs[i].tensor;
    Tensor tensor;
    tensor.type = output.type;
    tensor.shape = output.shape;
    tensor.quantization = ports[i].value->quantization;
    tensor.storage = output.bytes;
    if (request.json) {
      llvm::json::Array numbers;
      auto real = realNumbers(tensor);
      for (size_t j = 0; real && j < real->size(); ++j) // JSON has no NaN
        numbers.push_back(std::isfinite((*real)[j]) ? llvm::json::Value((*real)[j]) : llvm::json::Value(nullptr));
      list.push_back(llvm::json::Object{{"name", llvm::json::fixUTF8(llvm::StringRef(ports[i].name))},
                                        {"type", tensorTypeName(output.type)},
                                        {"shape", llvm::json::Array(output.shape)},
                                        {"values", std::move(numbers)}});
      continue;
    }
    llvm::outs() << "output " << i << " \"" << printable(ports[i].name) << "\" " << tensorTypeShortName(output.type)
                 << shapeText(output.shape);
    auto tell = [](auto numbers) {
      if (numbers.empty())
        return;
      auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
      llvm::outs() << llvm::format(" from %g to %g:", double(*low), double(*high));
      for (double number : numbers.take_front(8))
        llvm::outs() << llvm::format(" %g", number);
      llvm::outs() << (numbers.size() > 8 ? " …" : "");
    };
    if (tensor.type == TensorType::FLOAT32) // without doubles, which would take twice the memory
      tell(llvm::ArrayRef<float>(tensor.as<float>()));
    else if (auto numbers = realNumbers(tensor))
      tell(llvm::ArrayRef(*numbers));
    llvm::outs() << '\n';
  }
  if (request.json)
    told["outputs"] = std::move(list);
}

/// More runs, after the first, which has arranged everything, into the memory of its outputs: as many as wanted.
/// Without that number a trace is of one run, and a table of as many as tell the median of a run to 3 %, or take two
/// seconds; of as many as take six where more of them may tell which operator is the slowest.
llvm::Error Interpreter::measure(const Session &session, llvm::ArrayRef<TensorRef> inputs, llvm::ArrayRef<Port> ports,
                                 llvm::MutableArrayRef<NamedTensor> outputs, const RunOptions &run,
                                 RunProfile *profiled) {
  using Clock = std::chrono::steady_clock;
  std::vector<llvm::MutableArrayRef<uint8_t>> memory(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) // others may have another size the next time
    if (ports[i].rankKnown && llvm::none_of(ports[i].shape, [](int32_t size) { return size < 0; }))
      memory[i] = outputs[i].tensor.bytes;
  std::vector<double> times;
  constexpr unsigned fewest = 11, most = 1000;
  constexpr std::chrono::seconds budget(2);
  auto start = Clock::now();
  unsigned looksAt = fewest; // often enough, and in all as much work as the last time
  auto isEnough = [&](unsigned count) {
    if (request.runs)
      return count >= *request.runs;
    auto passed = Clock::now() - start;
    if (count == 0 || (count < fewest && passed < budget && !tracesOnly()))
      return false;
    if (tracesOnly() || count >= most || passed > 3 * budget)
      return true;
    if (passed < budget && profiled->whole().spread() >= 0.03)
      return false;
    if (count < looksAt && count >= fewest)
      return false;
    looksAt = count + count / 4;
    return !profiled->mayTellSlowest();
  };
  for (unsigned i = 0; !isEnough(i); ++i) {
    auto begin = Clock::now();
    if (llvm::Error error = session.runInto(inputs, memory, run))
      return error;
    auto took = Clock::now() - begin;
    if (profiled)
      profiled->endRun(took);
    times.push_back(std::chrono::duration<double, std::milli>(took).count());
  }
  if (!request.runs)
    return llvm::Error::success();
  llvm::sort(times);
  auto at = [&](double part) { return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1) + 0.5)]; };
  if (request.json) {
    told["runs"] =
        llvm::json::Object{{"count", *request.runs},      {"medianMs", at(0.5)},      {"lowerQuartileMs", at(0.25)},
                           {"upperQuartileMs", at(0.75)}, {"leastMs", times.front()}, {"mostMs", times.back()}};
    return llvm::Error::success();
  }
  llvm::outs() << llvm::format("%u runs: median %.3f ms, half of them from %.3f to %.3f, all from %.3f to %.3f\n",
                               *request.runs, at(0.5), at(0.25), at(0.75), times.front(), times.back());
  return llvm::Error::success();
}

llvm::Error Interpreter::writeProfile(const RunProfile &times, const Session &session) {
  std::optional<Peak> peak;
  if (!request.peak.empty()) {
    auto said = Peak::of(request.peak);
    if (!said)
      return makeError("--peak=" + printable(request.peak, 40) + " " + llvm::toString(said.takeError()));
    peak = *said;
  } else if (!tracesOnly() && request.engine == Engine::Fast) {
    peak = Peak::measure(threadCount(request.threads));
  }
  for (const std::string &path : {request.trace, request.profile.value_or("")})
    if (!path.empty())
      if (llvm::Error error = writeFile(path, [&](llvm::raw_ostream &os) {
            times.writeTrace(os, session, model);
            return llvm::Error::success();
          }))
        return error;
  if (tracesOnly())
    return llvm::Error::success();
  if (request.json) {
    told["operators"] = times.table(peak);
    Median run = times.whole();
    told["profiled"] =
        llvm::json::Object{{"runs", times.runs()}, {"ms", run.value}, {"msFrom", run.low}, {"msTo", run.high}};
    if (peak)
      told["peak"] = llvm::json::Object{{"macsPerSecond", peak->macs},
                                        {"bytesPerSecond", peak->memory},
                                        {"cachedBytesPerSecond", peak->cache},
                                        {"measured", peak->isMeasured}};
    return llvm::Error::success();
  }
  times.printTable(llvm::outs(), peak);
  return llvm::Error::success();
}

llvm::Error Interpreter::writeOutputs(llvm::ArrayRef<Port> results, llvm::MutableArrayRef<NamedTensor> outputs) {
  if (!request.outputs.empty())
    return writeNpyOutputs(results, outputs);
  if (outPrefix.empty())
    summarise(results, outputs);
  else
    for (size_t i = 0; i < outputs.size(); ++i)
      if (llvm::Error error = writeFile(outPrefix + std::to_string(i), llvm::toStringRef(outputs[i].tensor.bytes)))
        return error;
  return llvm::Error::success();
}

/// A tensor as --tap and --tap-source write it.
llvm::Error Interpreter::writeTap(const std::string &folder, const Value &value, const Tensor &tensor) const {
  std::string path = folder + "/" + std::to_string(value.subgraph()->index) + "_" + std::to_string(value.index);
  return request.inputs.empty() && request.outputs.empty() ? writeFile(path, llvm::toStringRef(tensor.bytes()))
                                                           : writeNpy(path, tensor.type, tensor.shape, tensor.bytes());
}

/// The model beside its source: for --tap-source and --swap.
llvm::Expected<std::vector<NamedTensor>> Interpreter::runWithSource(const std::vector<OwnedTensor> &inputs,
                                                                    const CompileOptions &options) const {
  PayloadStore store;
  auto models = loadRelated(request.source, model, store, door);
  if (!models)
    return models.takeError();
  auto source = compile(*models->source.model, options), result = compile(*models->result.model, options);
  if (!source || !result)
    return source ? inFile(model, result.takeError()) : inFile(request.source, firstError(source, result));
  auto pairs = report::Pairs::of(models->source, models->result);
  door.phase("executing");
  if (!request.swap.empty()) {
    auto layers = layersNamed(models->source, request.swap);
    if (!layers)
      return layers.takeError();
    return report::runSwapped(*source, *result, pairs, request.signature, inputs, report::closed(*layers, pairs));
  }
  if (llvm::Error error = makeFolder(request.tapSource))
    return error;
  llvm::Error failed = llvm::Error::success();
  unsigned live = 0, recovered = 0;
  bool leftOut = false;
  auto outputs = report::recover(
      *source, *result, pairs, request.signature, inputs,
      [&](const Value &value, unsigned, const Tensor &tensor, bool isRecovered) {
        if (failed)
          return;
        ++(isRecovered ? recovered : live);
        failed = writeTap(request.tapSource, value, tensor);
      },
      [&](const Value &value) {
        bool told = pairs.tellsOf(value);
        leftOut |= !told;
        return told;
      });
  if (failed) {
    llvm::consumeError(outputs.takeError());
    return failed;
  }
  door.note(llvm::Twine(live) + " tensors of the source live, " + llvm::Twine(recovered) + " are recovered" +
            (leftOut ? "; the result tells nothing of the others" : ""));
  return outputs;
}

CompileOptions Interpreter::compileOptions() const {
  CompileOptions options;
  options.engine = request.engine;
  options.threads = threadCount(request.threads);
  options.signature = request.signature;
  if (request.timeout)
    options.timeout = std::chrono::seconds(*request.timeout);
  return options;
}

llvm::Expected<std::vector<OwnedTensor>> Interpreter::inputsOf(const Session &session) const {
  auto ports = session.inputs();
  if (!ports)
    return ports.takeError();
  std::vector<OwnedTensor> inputs;
  for (const Port &port : *ports) {
    unsigned position = static_cast<unsigned>(inputs.size());
    auto input = !request.inputs.empty() ? readNpyInput(port, position)
                 : request.seed          ? randomInput(port, position, *request.seed)
                                         : readRaw(port, inPrefix + std::to_string(position));
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

/// One of two models that run in turn.
struct Runner {
  std::string file;
  Imported imported;
  std::vector<OwnedTensor> inputs = {};
  std::optional<Session> session = std::nullopt;
  std::optional<RunProfile> times = std::nullopt;

  /// Made anew, it lies elsewhere in memory, and is warmed up.
  llvm::Error prepare(const CompileOptions &options) {
    session.reset();
    auto made = compile(*imported.model, options);
    if (!made)
      return inFile(file, made.takeError());
    session.emplace(std::move(*made));
    return llvm::Error::success();
  }
  llvm::Error run(bool counts) {
    State state;
    RunOptions how;
    how.state = &state;
    RunProfile warm(imported.lineage.source, RunProfile::Traces::Nothing);
    how.timer = (counts ? *times : warm).timer();
    std::vector<TensorRef> refs(inputs.begin(), inputs.end());
    auto begin = RunProfile::Clock::now();
    auto outputs = session->run(refs, how);
    auto took = RunProfile::Clock::now() - begin;
    if (!outputs)
      return inFile(file, outputs.takeError());
    if (counts)
      times->endRun(took);
    return llvm::Error::success();
  }
};

/// Both run in turn, the first of a pair now one, now the other, until the difference is known up to 1 % or ten seconds
/// have passed. They are loaded twice, and several times made anew.
llvm::Error Interpreter::runInTurn(double failIfSlower, Verdict &verdict) {
  using Clock = RunProfile::Clock;
  PayloadStore stores[2];
  // Twice the two, in the other order the second time.
  std::optional<Runner> runners[2][2];
  for (bool again : {false, true})
    for (bool isNow : {again, !again}) {
      const std::string &file = isNow ? model : request.against;
      llvm::Expected<Imported> imported = load(file, {}, stores[again], door);
      if (!imported)
        return imported.takeError();
      Runner &runner = runners[again][isNow].emplace(Runner{file, std::move(*imported)});
      if (llvm::Error error = runner.prepare(compileOptions()))
        return error;
      auto inputs = inputsOf(*runner.session);
      if (!inputs)
        return inFile(file, inputs.takeError());
      runner.inputs = std::move(*inputs);
      runner.times.emplace(runner.imported.lineage.source, RunProfile::Traces::Nothing);
    }
  door.phase("executing");
  constexpr unsigned fewest = 20, most = 2000, wantedBlocks = 8;
  constexpr std::chrono::seconds budget(10);
  auto start = Clock::now();
  std::vector<size_t> blocks[2];
  auto compared = [&] {
    std::vector<RunsInTurn::Loaded> list;
    for (bool again : {false, true})
      if (!blocks[again].empty())
        list.push_back({*runners[again][0]->times, *runners[again][1]->times,
                        *runners[again][0]->imported.lineage.source, *runners[again][1]->imported.lineage.source,
                        blocks[again]});
    return RunsInTurn(list);
  };
  for (unsigned count = 0, next = 0, block = 0, again = 0;; ++count) {
    bool isLate = Clock::now() - start > budget, isOver = false;
    if (request.runs)
      isOver = count >= *request.runs;
    else if (count >= 12 && count % 2 == 0 && (isLate || count >= most))
      isOver = true;
    else if (count >= fewest && block >= 6 && count % 10 == 0) {
      const Median part = compared().whole().part;
      isOver = part.high - part.low < 0.02;
    }
    if (isOver && count)
      break;
    if (count >= next) { // a new place in memory
      again = block % 2;
      bool isOdd = block / 2 % 2; // who is made first lies elsewhere, too
      for (Runner *runner : {&*runners[again][isOdd], &*runners[again][!isOdd]})
        if (llvm::Error error = block >= 2 ? runner->prepare(compileOptions()) : llvm::Error::success())
          return error;
      for (auto &runner : runners[again])
        if (llvm::Error error = runner->run(false))
          return error;
      blocks[again].push_back(runners[again][0]->times->runs());
      ++block;
      next = count + (request.runs ? std::max(2u, *request.runs / wantedBlocks / 2 * 2)
                      : isLate     ? 2
                                   : 4 * ((block + 1) / 2));
    }
    for (unsigned turn : {count % 2, 1 - count % 2})
      if (llvm::Error error = runners[again][turn]->run(true))
        return error;
  }
  RunsInTurn result = compared();
  std::string words = printable(model, 200) + " beside " + printable(request.against, 200) + ": " + result.verdict();
  const Median &part = result.whole().part;
  if (failIfSlower >= 0 && result.whole().isSlower() && part.value > failIfSlower)
    verdict = Verdict::Refused;
  if (request.json) {
    told["comparison"] = result.json();
    return llvm::Error::success();
  }
  result.printTable(llvm::outs());
  llvm::outs() << words << '\n';
  return llvm::Error::success();
}

llvm::Error Interpreter::run() {
  PayloadStore store;
  ImportOptions import;
  if (!request.profile)
    import.origin = OriginMode::None;
  llvm::Expected<Imported> imported = load(model, import, store, door);
  if (!imported)
    return imported.takeError();
  CompileOptions options = compileOptions();
  auto session = compile(*imported->model, options);
  if (!session)
    return inFile(model, session.takeError());
  auto results = session->outputs();
  if (!results)
    return results.takeError();
  auto read = inputsOf(*session);
  if (!read)
    return read.takeError();
  std::vector<OwnedTensor> inputs = std::move(*read);
  for (size_t i = 0; i < inputs.size() && !request.saveInputs.empty(); ++i)
    if (llvm::Error error = writeFile(request.saveInputs + std::to_string(i), llvm::toStringRef(inputs[i].bytes)))
      return error;
  RunOptions run;
  State state;
  bool profiles = request.profile.has_value(), moreRuns = request.runs.value_or(0) > 0;
  if (moreRuns || profiles)
    run.state = &state;
  llvm::Error tapError = llvm::Error::success();
  if (!request.tap.empty()) {
    if (llvm::Error error = makeFolder(request.tap))
      return llvm::joinErrors(std::move(error), std::move(tapError));
    run.observer = [&](const Operator &, const Value &value, const Tensor &tensor) {
      if (tapError)
        return;
      tapError = writeTap(request.tap, value, tensor);
    };
  }
  if (!request.source.empty()) {
    auto outputs = runWithSource(inputs, options);
    if (!outputs)
      return outputs.takeError();
    return writeOutputs(*results, *outputs);
  }
  RunProfile times(imported->lineage.source, traces());
  if (profiles)
    run.timer = times.timer();
  std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  door.phase("executing");
  auto begin = RunProfile::Clock::now();
  auto outputs = session->run(refs, run);
  auto first = RunProfile::Clock::now() - begin;
  if (!outputs || tapError)
    return llvm::joinErrors(inFile(model, outputs.takeError()), std::move(tapError));
  if (llvm::Error error = writeOutputs(*results, *outputs))
    return error;
  // The first run warms up; one that takes long is all that there is.
  bool isAlone = profiles && !moreRuns && (request.runs || first > std::chrono::seconds(2));
  if (isAlone)
    times.endRun(first);
  else if (profiles)
    times.clear();
  if ((moreRuns || profiles) && !isAlone)
    if (llvm::Error error = measure(*session, refs, *results, *outputs, run, profiles ? &times : nullptr))
      return inFile(model, std::move(error));
  return profiles ? writeProfile(times, *session) : llvm::Error::success();
}

/// "5%" or "5" as a part; below 0: that is none.
double partOf(llvm::StringRef percent) {
  double value = 0;
  (void)percent.consume_back("%");
  return percent.trim().getAsDouble(value) || !(value >= 0 && value < 1e6) ? -1 : value / 100;
}

llvm::Error interpret(InterpretRequest &request, Words words, const Door &door, Verdict &verdict) {
  if (request.kernels) {
    llvm::outs() << supportTable();
    return llvm::Error::success();
  }
  bool hasInputs = request.seed || !request.inputs.empty(), recovers = !request.tapSource.empty(),
       swaps = !request.swap.empty();
  if (request.seed && !request.inputs.empty())
    return makeError("--seed and --inputs are two sources of inputs; give one");
  if (request.source.empty() == (recovers || swaps) || (recovers && swaps))
    return makeError("--source goes with --tap-source or --swap, and each of these with it");
  if (!request.source.empty() && (!request.tap.empty() || request.profile || request.runs.value_or(0)))
    return makeError("--tap, --profile and --runs are about the model alone, so not for --tap-source and --swap");
  bool inTurn = !request.against.empty();
  if (!request.trace.empty() && !request.profile) { // a trace alone
    request.profile = std::move(request.trace);
    request.trace.clear();
  }
  double failIfSlower = request.failIfSlower.empty() ? -1 : partOf(request.failIfSlower);
  if (!request.failIfSlower.empty() && (failIfSlower < 0 || !inTurn))
    return makeError(
        "--fail-if-slower=" + printable(request.failIfSlower, 40) +
        (inTurn ? " is no percentage; write 5%" : " needs --against=MODEL, the one that it is not to be slower than"));
  if (inTurn && (!request.profile || !request.profile->empty() || !request.trace.empty() || !request.tap.empty() ||
                 !request.source.empty() || !request.outputs.empty()))
    return makeError("--against goes with --profile, without a file, and with no other outputs");
  size_t before = hasInputs ? 1 : 2; // OUT_PREFIX
  bool hasPrefix = words.size() > before;
  if (words.size() < before || words.size() > before + 1 || (hasPrefix && (!request.outputs.empty() || inTurn)) ||
      (!hasPrefix && !hasInputs && request.outputs.empty() && !inTurn))
    return makeError("needs MODEL, IN_PREFIX (unless --seed or --inputs is given) and OUT_PREFIX (unless --outputs "
                     "is); --help shows examples");
  Interpreter interpreter{request, door, words[0], hasInputs ? "" : words[1], hasPrefix ? words.back() : ""};
  auto firstOf = [](const std::string &prefix) {
    return prefix.empty() ? std::nullopt : FileIdentity::of(prefix + "0");
  };
  if (auto saved = firstOf(request.saveInputs); saved && saved == firstOf(interpreter.outPrefix))
    return makeError("--save-inputs and OUT_PREFIX give files the same names; give each its own");
  if (llvm::Error error = inTurn ? interpreter.runInTurn(failIfSlower, verdict) : interpreter.run())
    return error;
  if (request.json)
    JsonOutput() << llvm::formatv("{0:2}", llvm::json::Value(std::move(interpreter.told))) << '\n';
  return llvm::Error::success();
}

} // namespace

const Command interpretCommand = makeCommand<interpret>(
    "circle-interpreter", "MODEL [IN_PREFIX] [OUT_PREFIX]",
    "Runs a .circle, .tflite or .origo model.\n\n"
    "  circle-interpreter --seed=1 net.circle                     random inputs; shows the outputs\n"
    "  circle-interpreter --inputs=in --outputs=out net.circle    in/image.npy or in/0.npy to out/scores.npy\n"
    "  circle-interpreter --seed=1 --profile net.circle           what takes how long, and where it came from\n"
    "  circle-interpreter --seed=1 --profile=trace.json net.circle\n"
    "  circle-interpreter --seed=1 --profile --against=old.circle --fail-if-slower=5% net.circle\n"
    "  circle-interpreter --seed=1 --tap=tensors --outputs=out net.circle\n"
    "  circle-interpreter --seed=1 --tap-source=tensors --source=net.tflite net_int8.tflite\n"
    "  circle-interpreter --seed=1 --swap=block3/,logits --source=net.tflite net_int8.tflite\n"
    "  circle-interpreter --engine=fast --threads=2 --runs=20 --seed=1 net.circle\n"
    "  circle-interpreter --signature=decode --seed=1 net.tflite\n"
    "  circle-interpreter net.circle in out                       ONE's way: input n is read from the file in<n>,\n"
    "                                                             output n written to out<n>: bare elements\n",
    [] { return Options(interpretRows); });

} // namespace origo::commands
