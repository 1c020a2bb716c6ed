#include "eval/Npy.h"
#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"
#include "export/Writer.h"
#include "ir/OpenFile.h"
#include "schema/RunFiles.h"
#include "schema/TensorTypes.h"
#include "tools/Driver.h"
#include "tools/Profile.h"
#include "tools/Related.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace origo;
using namespace origo::eval;
namespace cl = llvm::cl;

static cl::OptionCategory general("General");
static cl::list<std::string> arguments(cl::Positional, cl::desc("MODEL [IN_PREFIX] [OUT_PREFIX]"), cl::cat(general));
static cl::opt<std::string>
    inputsFolder("inputs", cl::value_desc("DIR"), cl::cat(general),
                 cl::desc("Reads inputs from .npy files there, named like the input (/ becomes _) or 0.npy, 1.npy, …"));
static cl::opt<unsigned> seed("seed", cl::value_desc("N"), cl::desc("Random inputs instead of files"),
                              cl::cat(general));
static cl::opt<std::string> outputsFolder("outputs", cl::value_desc("DIR"), cl::cat(general),
                                          cl::desc("Writes outputs as .npy files there, named like inputs"));
static cl::opt<std::string> saveInputs("save-inputs", cl::value_desc("PREFIX"), cl::cat(general),
                                       cl::desc("Writes the inputs it runs on to PREFIX0, PREFIX1, …: bare elements"));
static cl::opt<std::string>
    tap("tap", cl::value_desc("DIR"), cl::cat(general),
        cl::desc("Writes every tensor that is computed to DIR/SUBGRAPH_TENSOR, as .npy where inputs or outputs are"));
static cl::opt<std::string> sourceModel("source", cl::value_desc("MODEL"), cl::cat(general),
                                        cl::desc("What the model was made from, for --tap-source and --swap"));
static cl::opt<std::string> tapSource(
    "tap-source", cl::value_desc("DIR"), cl::cat(general),
    cl::desc("Like --tap, but every tensor of the source: what is not computed any more is recovered from the "
             "nearest tensors that are"));
static cl::opt<std::string>
    swap("swap", cl::value_desc("LAYERS"), cl::cat(general),
         cl::desc("Runs these source operators in place of what became of them: names or scopes, separated by commas"));
static cl::opt<std::string> profile("profile", tools::writes, cl::ValueOptional, cl::value_desc("FILE.json"),
                                    cl::cat(general),
                                    cl::desc("Prints the time that each operator takes and its origins, or writes a "
                                             "trace for chrome://tracing"));
static cl::opt<Engine> engine("engine", cl::desc("What computes:"), cl::init(Engine::Reference),
                              cl::values(clEnumValN(Engine::Reference, "reference", "the semantics, bit for bit"),
                                         clEnumValN(Engine::Fast, "fast", "vector kernels, within small tolerances")),
                              cl::cat(general));
static cl::opt<unsigned> threads("threads", cl::value_desc("N"), cl::init(1), cl::cat(general),
                                 cl::desc("Of --engine=fast; 0, and more than there are processors: all of them"));
static cl::opt<std::string> signature("signature", cl::value_desc("NAME"), cl::cat(general),
                                      cl::desc("Runs this signature of the model (default: subgraph 0)"));
static cl::opt<unsigned>
    runs("runs", cl::value_desc("N"), cl::cat(general), cl::init(0),
         cl::desc("Runs N times more, and prints the median time and the spread; of --profile: as many "
                  "as its medians need"));
static cl::opt<unsigned> timeout("timeout", cl::desc("Gives up after that many seconds"), cl::value_desc("SECONDS"),
                                 cl::cat(general));
static cl::opt<bool> json("json", cl::desc("Prints outputs, and what --runs and --profile tell, as JSON"),
                          cl::cat(general));
static cl::opt<bool> kernels("kernels", cl::desc("Prints the operators and types that can be run"), cl::cat(general));

namespace {

llvm::json::Object told; ///< what --json prints

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

llvm::Expected<OwnedTensor> readNpyInput(const Port &port, unsigned position) {
  std::string folder = inputsFolder + "/", index = folder + std::to_string(position) + ".npy";
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

llvm::Error writeNpyOutputs(llvm::ArrayRef<Port> ports, llvm::ArrayRef<NamedTensor> outputs) {
  if (llvm::Error error = tools::makeFolder(outputsFolder))
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
    std::string path = outputsFolder + "/" + *name;
    if (llvm::Error error = writeNpy(path, tensor.type, tensor.shape, tensor.bytes))
      return error;
    written += (written.empty() ? "" : ", ") + printable(path, 300) + ".npy";
  }
  tools::note("wrote " + written);
  return llvm::Error::success();
}

/// A line an output, or an object, for those who want to see that it runs.
void summarise(llvm::ArrayRef<Port> ports, llvm::MutableArrayRef<NamedTensor> outputs) {
  llvm::json::Array list;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OwnedTensor &output = outputs[i].tensor;
    Tensor tensor;
    tensor.type = output.type;
    tensor.shape = output.shape;
    tensor.quantization = ports[i].value->quantization;
    tensor.storage = output.bytes;
    if (json) {
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
  if (json)
    told["outputs"] = std::move(list);
}

/// More runs, after the first, which has arranged everything, into the memory of its outputs: as many as wanted.
/// Without that number a trace is of one run, and a table of as many as tell the median of a run to 3 %, or take two
/// seconds.
llvm::Error measure(const Session &session, llvm::ArrayRef<TensorRef> inputs, llvm::ArrayRef<Port> ports,
                    llvm::MutableArrayRef<NamedTensor> outputs, const RunOptions &run, tools::Profile *profiled) {
  using Clock = std::chrono::steady_clock;
  std::vector<llvm::MutableArrayRef<uint8_t>> memory(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) // others may have another size the next time
    if (ports[i].rankKnown && llvm::none_of(ports[i].shape, [](int32_t size) { return size < 0; }))
      memory[i] = outputs[i].tensor.bytes;
  std::vector<double> times;
  constexpr unsigned fewest = 11, most = 1000;
  constexpr std::chrono::seconds budget(2);
  auto start = Clock::now();
  auto isEnough = [&](unsigned count) {
    if (runs.getNumOccurrences())
      return count >= runs;
    bool isOver = !profile.empty() || count >= most || Clock::now() - start > budget;
    return count > 0 && (isOver || (count >= fewest && profiled->whole().spread() < 0.03));
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
  if (!runs.getNumOccurrences())
    return llvm::Error::success();
  llvm::sort(times);
  auto at = [&](double part) { return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1) + 0.5)]; };
  if (json) {
    told["runs"] =
        llvm::json::Object{{"count", unsigned(runs)},     {"medianMs", at(0.5)},      {"lowerQuartileMs", at(0.25)},
                           {"upperQuartileMs", at(0.75)}, {"leastMs", times.front()}, {"mostMs", times.back()}};
    return llvm::Error::success();
  }
  llvm::outs() << llvm::format("%u runs: median %.3f ms, half of them from %.3f to %.3f, all from %.3f to %.3f\n",
                               unsigned(runs), at(0.5), at(0.25), at(0.75), times.front(), times.back());
  return llvm::Error::success();
}

llvm::Error writeProfile(const tools::Profile &times) {
  if (profile.empty() && json) {
    told["operators"] = times.table();
    tools::Median run = times.whole();
    told["profiled"] =
        llvm::json::Object{{"runs", times.runs()}, {"ms", run.value}, {"msFrom", run.low}, {"msTo", run.high}};
    return llvm::Error::success();
  }
  if (profile.empty()) {
    times.printTable(llvm::outs());
    return llvm::Error::success();
  }
  return writeFile(profile, [&](llvm::raw_ostream &os) {
    times.writeTrace(os);
    return llvm::Error::success();
  });
}

llvm::Error writeOutputs(llvm::ArrayRef<Port> results, llvm::MutableArrayRef<NamedTensor> outputs,
                         const std::string &outPrefix) {
  if (!outputsFolder.empty())
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
llvm::Error writeTap(const std::string &folder, const Value &value, const Tensor &tensor) {
  std::string path = folder + "/" + std::to_string(value.subgraph()->index) + "_" + std::to_string(value.index);
  return inputsFolder.empty() && outputsFolder.empty() ? writeFile(path, llvm::toStringRef(tensor.bytes()))
                                                       : writeNpy(path, tensor.type, tensor.shape, tensor.bytes());
}

/// The model beside its source: for --tap-source and --swap.
llvm::Expected<std::vector<NamedTensor>> runWithSource(const std::string &model, const std::vector<OwnedTensor> &inputs,
                                                       const CompileOptions &options) {
  PayloadStore store;
  auto models = tools::loadRelated(sourceModel, model, store, tools::door());
  if (!models)
    return models.takeError();
  auto source = compile(*models->source.model, options), result = compile(*models->result.model, options);
  if (!source || !result)
    return source ? inFile(model, result.takeError()) : inFile(sourceModel, firstError(source, result));
  auto pairs = report::Pairs::of(models->source, models->result);
  tools::phase("executing");
  if (!swap.empty()) {
    auto layers = tools::layersNamed(*models->source.model, swap);
    if (!layers)
      return layers.takeError();
    return report::runSwapped(*source, *result, pairs, signature, inputs, report::closed(*layers, pairs));
  }
  if (llvm::Error error = tools::makeFolder(tapSource))
    return error;
  llvm::Error failed = llvm::Error::success();
  unsigned live = 0, recovered = 0;
  bool leftOut = false;
  auto outputs = report::recover(
      *source, *result, pairs, signature, inputs,
      [&](const Value &value, unsigned, const Tensor &tensor, bool isRecovered) {
        if (failed)
          return;
        ++(isRecovered ? recovered : live);
        failed = writeTap(tapSource, value, tensor);
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
  tools::note(llvm::Twine(live) + " tensors of the source live, " + llvm::Twine(recovered) + " are recovered" +
              (leftOut ? "; the result tells nothing of the others" : ""));
  return outputs;
}

/// Empty prefixes: inputs are random or of `inputsFolder`, outputs go to `outputsFolder` or are shown.
llvm::Error interpret(const std::string &model, const std::string &inPrefix, const std::string &outPrefix) {
  PayloadStore store;
  ImportOptions import;
  if (!profile.getNumOccurrences())
    import.origin = OriginMode::None;
  llvm::Expected<Imported> imported = tools::load(model, import, store);
  if (!imported)
    return imported.takeError();
  CompileOptions options;
  options.engine = engine;
  options.threads = tools::threadCount(threads);
  options.signature = signature;
  if (timeout.getNumOccurrences())
    options.timeout = std::chrono::seconds(timeout);
  auto session = compile(*imported->model, options);
  if (!session)
    return inFile(model, session.takeError());
  std::vector<OwnedTensor> inputs;
  auto ports = session->inputs(), results = session->outputs();
  if (!ports || !results)
    return firstError(ports, results);
  for (const Port &port : *ports) {
    unsigned position = static_cast<unsigned>(inputs.size());
    auto input = !inputsFolder.empty()      ? readNpyInput(port, position)
                 : seed.getNumOccurrences() ? randomInput(port, position, seed)
                                            : readRaw(port, inPrefix + std::to_string(position));
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  for (size_t i = 0; i < inputs.size() && !saveInputs.empty(); ++i)
    if (llvm::Error error = writeFile(saveInputs + std::to_string(i), llvm::toStringRef(inputs[i].bytes)))
      return error;
  RunOptions run;
  State state;
  bool profiles = profile.getNumOccurrences() > 0;
  if (runs || profiles)
    run.state = &state;
  llvm::Error tapError = llvm::Error::success();
  if (!tap.empty()) {
    if (llvm::Error error = tools::makeFolder(tap))
      return llvm::joinErrors(std::move(error), std::move(tapError));
    run.observer = [&](const Operator &, const Value &value, const Tensor &tensor) {
      if (tapError)
        return;
      tapError = writeTap(tap, value, tensor);
    };
  }
  if (!sourceModel.empty()) {
    auto outputs = runWithSource(model, inputs, options);
    if (!outputs)
      return outputs.takeError();
    return writeOutputs(*results, *outputs, outPrefix);
  }
  tools::Profile times(imported->lineage.source, !profile.empty());
  if (profiles)
    run.timer = times.timer();
  std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  tools::phase("executing");
  auto begin = tools::Profile::Clock::now();
  auto outputs = session->run(refs, run);
  auto first = tools::Profile::Clock::now() - begin;
  if (!outputs || tapError)
    return llvm::joinErrors(inFile(model, outputs.takeError()), std::move(tapError));
  if (llvm::Error error = writeOutputs(*results, *outputs, outPrefix))
    return error;
  // The first run warms up; one that takes long is all that there is.
  bool isAlone = profiles && !runs && (runs.getNumOccurrences() || first > std::chrono::seconds(2));
  if (isAlone)
    times.endRun(first);
  else if (profiles)
    times.clear();
  if ((runs || profiles) && !isAlone)
    if (llvm::Error error = measure(*session, refs, *results, *outputs, run, profiles ? &times : nullptr))
      return inFile(model, std::move(error));
  return profiles ? writeProfile(times) : llvm::Error::success();
}

int run() {
  if (kernels) {
    llvm::outs() << supportTable();
    return 0;
  }
  bool hasInputs = seed.getNumOccurrences() || !inputsFolder.empty();
  if (seed.getNumOccurrences() && !inputsFolder.empty())
    return tools::fail("--seed and --inputs are two sources of inputs; give one");
  if (sourceModel.empty() != (tapSource.empty() && swap.empty()) || (!tapSource.empty() && !swap.empty()))
    return tools::fail("--source goes with --tap-source or --swap, and each of these with it");
  if (!sourceModel.empty() && (!tap.empty() || profile.getNumOccurrences() || runs))
    return tools::fail("--tap, --profile and --runs are about the model alone, so not for --tap-source and --swap");
  std::vector<std::string> words(arguments.begin(), arguments.end());
  size_t before = hasInputs ? 1 : 2; // OUT_PREFIX
  bool hasPrefix = words.size() > before;
  if (words.size() < before || words.size() > before + 1 || (hasPrefix && !outputsFolder.empty()) ||
      (!hasPrefix && !hasInputs && outputsFolder.empty()))
    return tools::fail("needs MODEL, IN_PREFIX (unless --seed or --inputs is given) and OUT_PREFIX (unless --outputs "
                       "is); --help shows examples");
  std::string inPrefix = hasInputs ? "" : words[1], outPrefix = hasPrefix ? words.back() : "";
  auto firstOf = [](const std::string &prefix) {
    return prefix.empty() ? std::nullopt : FileIdentity::of(prefix + "0");
  };
  if (auto saved = firstOf(saveInputs); saved && saved == firstOf(outPrefix))
    return tools::fail("--save-inputs and OUT_PREFIX give files the same names; give each its own");
  if (llvm::Error error = interpret(words[0], inPrefix, outPrefix))
    return tools::fail(std::move(error));
  if (json)
    tools::JsonOutput() << llvm::formatv("{0:2}", llvm::json::Value(std::move(told))) << '\n';
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(
      argc, argv, "circle-interpreter", {&general},
      "Runs a .circle, .tflite or .origo model.\n\n"
      "  circle-interpreter --seed=1 net.circle                     random inputs; shows the outputs\n"
      "  circle-interpreter --inputs=in --outputs=out net.circle    in/image.npy or in/0.npy to out/scores.npy\n"
      "  circle-interpreter --seed=1 --profile net.circle           what takes how long, and where it came from\n"
      "  circle-interpreter --seed=1 --profile=trace.json net.circle\n"
      "  circle-interpreter --seed=1 --tap=tensors --outputs=out net.circle\n"
      "  circle-interpreter --seed=1 --tap-source=tensors --source=net.tflite net_int8.tflite\n"
      "  circle-interpreter --seed=1 --swap=block3/,logits --source=net.tflite net_int8.tflite\n"
      "  circle-interpreter --engine=fast --threads=2 --runs=20 --seed=1 net.circle\n"
      "  circle-interpreter --signature=decode --seed=1 net.tflite\n"
      "  circle-interpreter net.circle in out                       ONE's way: input n is read from the file in<n>,\n"
      "                                                             output n written to out<n>: bare elements\n",
      run);
}
