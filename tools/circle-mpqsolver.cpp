/// Finds the layers of a quantised model that need 16 bits, or floats.

#include "commands/QuantizeModel.h"
#include "commands/Records.h"
#include "eval/RealNumbers.h"
#include "export/Writer.h"
#include "ir/OpenFile.h"
#include "passes/Pipeline.h"
#include "quantize/Assignment.h"
#include "quantize/Config.h"
#include "quantize/MixedPrecision.h"
#include "quantize/Ranges.h"
#include "report/errors/Live.h"
#include "report/errors/Search.h"
#include "schema/TensorTypes.h"
#include "tools/Driver.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>

using namespace origo;
using namespace origo::quantize;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> input("input_model", cl::value_desc("MODEL"), cl::cat(category),
                           cl::desc("A float model; with ranges from record-minmax, else they are taken from --data"));
cl::opt<std::string> output("output_model", cl::value_desc("MODEL"), cl::cat(category), cl::desc("The quantised one"));
cl::opt<std::string> data("data", cl::value_desc("PATH"), cl::cat(category),
                          cl::desc("Records as record-minmax reads them, or the word random"));
cl::alias dataToo("input_data", cl::aliasopt(data), cl::desc("Same as --data"), cl::cat(category));
cl::opt<std::string> dataFormat("data_format", cl::cat(category),
                                cl::desc("h5, list, dir or numpy; without: as PATH tells"));
cl::opt<double> ratio("qerror_ratio", cl::init(0.5), cl::value_desc("R"), cl::cat(category),
                      cl::desc("The error may be so much of the way from all in 16 bits (0) to all in 8 (1)"));
cl::opt<std::string> bisection("bisection", cl::value_desc("auto|true|false"), cl::cat(category),
                               cl::desc("16 bits in front (true), behind (false), or where --visq_file has more error; "
                                        "without that file auto takes the way with fewer layers in 16 bits"));
cl::opt<std::string> visqFile("visq_file", cl::value_desc("FILE"), cl::cat(category),
                              cl::desc("Errors by layer, from visq"));
cl::opt<double> bound(
    "max_error", cl::value_desc("E"), cl::cat(category),
    cl::desc("Instead of --bisection: the cheapest uint8, int16 and float32 of layers with an error of at most E, ends "
             "included; exit status 2 where none has it"));
cl::opt<double> mostBytes("max_bytes", cl::value_desc("N"), cl::cat(category),
                          cl::desc("Likewise: the least error with at most N bytes of weights and results of layers"));
cl::opt<double> mostTime("max_time", cl::value_desc("T"), cl::cat(category),
                         cl::desc("Likewise: the least error that takes at most T, by --costs"));
cl::opt<std::string>
    costFile("costs", cl::value_desc("FILE"), cl::cat(category),
             cl::desc("What each layer costs at each level, in JSON, for --max_time, and for --max_error "
                      "instead of bytes"));
cl::opt<std::string> writeCosts("measure_costs", writes, cl::value_desc("FILE"), cl::cat(category),
                                cl::desc("Writes such a file: milliseconds on our engine, with --data"));
cl::list<std::string> levelNames("levels", cl::value_desc("uint8,int16,float32"), cl::CommaSeparated, cl::cat(category),
                                 cl::desc("Only these levels, for budgets"));
cl::opt<std::string> inputType("input_dtype", cl::value_desc("TYPE"), cl::cat(category),
                               cl::desc("Of inputs: uint8, int8, int16 or float32; default: --quantized_dtype"));
cl::opt<std::string> outputType("output_dtype", cl::value_desc("TYPE"), cl::cat(category), cl::desc("Of outputs"));
cl::opt<std::string> quantizedType("quantized_dtype", cl::init("uint8"), cl::cat(category),
                                   cl::desc("What 8 bits are: uint8 as in ONE, or int8 as in TensorFlow Lite, where 16 "
                                            "bits are int16x8, weights keep 8, and "
                                            "--config is a recipe (circle-quantizer --recipe)"));
cl::opt<std::string> granularity("granularity", cl::init("channel"), cl::cat(category), cl::desc("channel or layer"));
cl::opt<bool> tfMaxPool("TF-style_maxpool", cl::cat(category), cl::desc("MAX_POOL_2D has the scale of its input"));
cl::opt<bool> saveMinMax("save_min_max", cl::cat(category), cl::desc("Keeps the recorded ranges beside the scales"));
cl::opt<bool>
    patterns("patterns", cl::cat(category),
             cl::desc("Instead of --bisection: all in 8 bits, but for what the two options below name; needs no data"));
cl::opt<bool> layerNorms("u8_layernorm_with_s16_variance", cl::cat(category),
                         cl::desc("Variances of layer norms have 16 bits; stands for --patterns"));
cl::opt<bool> softmaxes("u8_softmax_with_s16_sub_exp", cl::cat(category),
                        cl::desc("SUB and EXP of softmaxes have 16 bits, likewise"));
cl::opt<std::string> intermediate("save_intermediate", cl::value_desc("DIR"), cl::cat(category),
                                  cl::desc("Writes each configuration, its model and the errors there"));
cl::opt<std::string> configFile("config", writes, cl::value_desc("FILE"), cl::cat(category),
                                cl::desc("Writes what was found for circle-quantizer --config"));

cl::opt<bool> verbose("verbose", cl::desc("Accepted; what was done is always said"), cl::cat(category));
cl::alias verboseShort("V", cl::aliasopt(verbose), cl::desc("Same as --verbose"), cl::cat(category));

bool byPatterns() { return patterns || layerNorms || softmaxes; }
bool isUnsigned() { return quantizedType == "uint8"; }
llvm::StringRef shown(Level level) { return levelName(level, isUnsigned()); }

/// What the scheme asks of a layer.
llvm::Expected<Scheme::Choice> choiceOf(Level level, llvm::StringRef granularity) {
  if (isUnsigned())
    return oneChoice(shown(level), granularity);
  if (granularity != "channel" && granularity != "layer")
    return makeError("--granularity: \"" + printable(granularity) + "\" is none; give channel or layer");
  Scheme::Choice choice;
  choice.perChannel = choice.perChannelDense = granularity == "channel";
  choice.quantize = level != Level::Float;
  if (level == Level::Int16) {
    choice.activations = TensorType::INT16;
    choice.bias = TensorType::INT64;
  }
  return choice;
}

/// How many budgets are given.
unsigned budgets() {
  return (bound.getNumOccurrences() != 0) + (mostBytes.getNumOccurrences() != 0) + (mostTime.getNumOccurrences() != 0);
}

/// The input, read anew for each try.
class Solver {
public:
  /// False: what was asked for cannot be had.
  llvm::Expected<bool> run();

private:
  PayloadStore store;
  Imported original;
  std::optional<Statistics> statistics; ///< where the model has no ranges
  std::unique_ptr<Records> records;
  std::optional<eval::Session> reference;
  Scheme scheme;
  unsigned tried = 0;
  std::map<std::pair<Levels, bool>, double> measured; ///< of what is written
  std::string errors;                                 ///< lines of errors.mpq.txt

  const Subgraph &graph() const { return *original.model->subgraphs.front(); }
  llvm::Error open();
  llvm::Error takeRanges();
  llvm::Expected<bool> inFront() const;
  llvm::Expected<MixedPrecision> solve();
  llvm::Expected<LevelCosts> levelCosts() const;
  llvm::Expected<bool> solveBudget();
  llvm::Error measureCosts();
  llvm::Error unpack(Imported &loaded); ///< weights that the file packs are weights as any other
  llvm::Expected<Imported> read();
  std::string nameOf(const Operator &op) const { return op.result() ? op.result()->name.str() : ""; }
  llvm::Error quantize(Imported &imported, const Levels &levels, bool floatEnds);
  llvm::Expected<double> insideErrorOf(const Levels &levels);
  llvm::Expected<double> writtenErrorOf(const Levels &levels, bool runs);
  llvm::Expected<double> runWritten(Model &model);
  llvm::Expected<double> kept(const Levels &levels, llvm::Expected<double> error);
  llvm::Expected<eval::Session> fake(Imported &faked, const Levels &levels);
  llvm::Expected<double> distance(const eval::Session &session, const Subgraph *ends = nullptr);
  llvm::Expected<uint64_t> writtenBytes(const Levels &levels);
  std::string configOf(const Levels &levels) const;
  std::string recipeOf(const Levels &levels) const;
  llvm::Error keep(const std::string &number, const Levels &levels, double error);
  llvm::Error finish(const Levels &levels);
};

Levels levelsOf(const WideLayers &wide) {
  Levels levels;
  for (bool isWide : wide)
    levels.push_back(isWide ? Level::Int16 : Level::Int8);
  return levels;
}

bool isQuantized(const Model &model) {
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if ((value->producer() || value->isGraphInput) && value->type != TensorType::FLOAT32 && value->quantization &&
          value->quantization->quantized())
        return true;
  return false;
}

bool hasRanges(const Model &model) {
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (value->producer() && value->quantization && !value->quantization->min.empty())
        return true;
  return false;
}

llvm::Error Solver::unpack(Imported &loaded) {
  return isUnsigned() ? llvm::Error::success() : commands::unpackConstants(*loaded.model, store, false);
}

llvm::Expected<Imported> Solver::read() {
  llvm::Expected<Imported> loaded = load(input, {}, store);
  if (loaded)
    if (llvm::Error error = unpack(*loaded))
      return inFile(input, std::move(error));
  return loaded;
}

llvm::Error Solver::open() {
  if (llvm::Error error = checkFiles(input, output))
    return error;
  auto loaded = read();
  if (!loaded)
    return loaded.takeError();
  original = std::move(*loaded);
  if (isQuantized(*original.model))
    return inFile(input, makeError("has integers with scales already; give the float model"));
  auto choice = choiceOf(Level::Int8, granularity);
  if (!choice)
    return choice.takeError();
  scheme.dialect = isUnsigned() ? Dialect::One : Dialect::Tflite;
  scheme.common = *choice;
  scheme.poolKeepsScale = tfMaxPool;
  return llvm::Error::success();
}

llvm::Error Solver::takeRanges() {
  if (hasRanges(*original.model))
    return llvm::Error::success();
  if (data.empty())
    return inFile(input, makeError("no tensor has a range: run record-minmax first, or give --data"));
  phase("executing");
  auto taken = commands::calibrate(*original.model, [](llvm::ArrayRef<eval::Port> ports, llvm::StringRef) {
    return commands::recordsAt(data, ports, dataFormat);
  });
  if (!taken)
    return taken.takeError();
  statistics = std::move(*taken);
  return llvm::Error::success();
}

/// Ends that stay floats are compared; the scheme's own are for the file.
llvm::Error Solver::quantize(Imported &imported, const Levels &levels, bool floatEnds) {
  Model &model = *imported.model;
  if (statistics) {
    std::vector<std::string> silent;
    if (llvm::Error error = setRanges(model, *statistics, {{}}, silent))
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
  if (!saveMinMax)
    clearRanges(model);
  return llvm::Error::success();
}

/// Floats that are rounded to what the integers hold, between ends that are not: they are as far off as the integers,
/// for which runtimes have few kernels where weights have 16 bits.
llvm::Expected<eval::Session> Solver::fake(Imported &faked, const Levels &levels) {
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
llvm::Expected<double> Solver::kept(const Levels &levels, llvm::Expected<double> error) {
  if (!error)
    return error;
  auto all = [&](Level level) { return llvm::all_of(levels, [&](Level one) { return one == level; }); };
  std::string number = all(Level::Int8) ? "Q8" : all(Level::Int16) ? "Q16" : std::to_string(++tried);
  if (llvm::Error failed = keep(number, levels, *error))
    return failed;
  return error;
}

/// What the layers are off, as ONE's tool measures it: the ends stay floats.
llvm::Expected<double> Solver::insideErrorOf(const Levels &levels) {
  phase("executing");
  Imported faked;
  auto session = fake(faked, levels);
  if (!session)
    return session.takeError();
  return kept(levels, distance(*session));
}

/// What the model is off that is written for these levels, ends and all. `runs`: by running it, where there are kernels
/// for all of it; else by its insides in floats, between its ends.
llvm::Expected<double> Solver::writtenErrorOf(const Levels &levels, bool runs) {
  if (auto known = measured.find({levels, runs}); known != measured.end())
    return known->second;
  phase("executing");
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

llvm::Expected<double> Solver::runWritten(Model &model) {
  auto session = eval::compile(model, {.engine = eval::Engine::Fast});
  if (!session)
    return session.takeError();
  return distance(*session);
}

/// A tensor's real numbers as another one stores them; none: it cannot.
std::optional<eval::OwnedTensor> storedAs(eval::OwnedTensor given, const Value &from, const Value &to) {
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
llvm::Expected<double> Solver::distance(const eval::Session &session, const Subgraph *ends) {
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
    return inFile(input, makeError("has no output of floats, so that nothing can be compared"));
  return sum / static_cast<double>(count);
}

/// What --max_bytes counts, of the model that is written: numbers of weights, biases and results, but of bridges.
llvm::Expected<uint64_t> Solver::writtenBytes(const Levels &levels) {
  auto written = read();
  if (!written)
    return written.takeError();
  if (llvm::Error failed = quantize(*written, levels, false))
    return failed;
  uint64_t bits = 0;
  auto add = [&](const Value *value) {
    bits += value->elementCount().value_or(0) * bitsPerElement(value->type).value_or(0);
  };
  for (const Operator &op : written->model->subgraphs.front()->operators) {
    if (op.code == BuiltinOperator::QUANTIZE || op.code == BuiltinOperator::DEQUANTIZE)
      continue;
    for (const Use &use : op.operands())
      if (const Value *value = use.get();
          value && value->isConstant() &&
          (value->type == TensorType::FLOAT32 || (value->quantization && value->quantization->quantized())))
        add(value);
    for (const Value *value : op.results())
      if (value)
        add(value);
  }
  return (bits + 7) / 8;
}

bool isStored(TensorType type) { return type != TensorType::FLOAT32; }

bool isBias(const Operator &op, size_t operand) {
  using Op = BuiltinOperator;
  return (operand == 2 &&
          llvm::is_contained({Op::CONV_2D, Op::DEPTHWISE_CONV_2D, Op::FULLY_CONNECTED, Op::CONV_3D}, op.code)) ||
         (operand == 3 && op.code == Op::TRANSPOSE_CONV);
}

/// What --costs says; else bytes: of weights and of what operators compute.
llvm::Expected<LevelCosts> Solver::levelCosts() const {
  LevelCosts costs;
  if (!costFile.empty()) {
    auto file = readInput(costFile);
    if (!file)
      return makeError(printable(costFile, 300) + ": " + file.getError().message());
    auto read = readCosts((*file)->getBuffer(), graph(), isUnsigned());
    if (!read)
      return inFile(costFile, read.takeError());
    costs = std::move(*read);
    if (llvm::none_of(costs, [](const auto &cost) { return cost != LevelCosts::value_type{0, 0, 0}; }))
      return inFile(costFile, makeError("gives no layer a cost, so that every choice would be free"));
  } else {
    for (const Operator &op : graph().operators) {
      uint64_t weights = 0, biases = 0, results = 0;
      for (auto [i, use] : llvm::enumerate(op.operands()))
        if (const Value *value = use.get(); value && value->isConstant() && value->type == TensorType::FLOAT32)
          (isBias(op, i) ? biases : weights) += value->elementCount().value_or(0);
      for (const Value *value : op.results())
        results += value ? value->elementCount().value_or(0) : 0;
      auto w = static_cast<double>(weights), b = static_cast<double>(biases), r = static_cast<double>(results);
      // In int16x8, weights keep 8 bits; biases are sums of products.
      costs.push_back({w + 4 * b + r, (isUnsigned() ? 2 : 1) * w + 8 * b + 2 * r, 4 * (w + b + r)});
    }
  }
  for (auto &cost : costs)
    for (size_t k = 0; k < levelCount; ++k)
      if (!levelNames.empty() && !llvm::is_contained(levelNames, shown(static_cast<Level>(k))))
        cost[k].reset();
  return costs;
}

llvm::Expected<bool> Solver::solveBudget() {
  auto costs = levelCosts();
  if (!costs)
    return costs.takeError();
  // Few kernels of uint8 are fast, and none has weights of 16 bits, so that only what is found is run.
  auto measure = [&](const Levels &levels) { return writtenErrorOf(levels, !isUnsigned()); };
  bool bytes = mostBytes.getNumOccurrences();
  double budget = bytes ? mostBytes : mostTime, most = bound;
  auto search = [&] {
    return bound.getNumOccurrences() ? cheapestWithin(*costs, most, measure) : bestWithin(*costs, budget, measure);
  };
  auto found = search();
  // Where the quantiser leaves floats, what is written takes more than its levels cost: as much less is looked for
  // again.
  constexpr unsigned mostSearches = 4;
  bool cheapest = true;
  for (unsigned i = 0; found && bytes; ++i) {
    auto written = writtenBytes(found->levels);
    if (!written)
      return written.takeError();
    double over = static_cast<double>(*written) - mostBytes;
    budget = std::min(budget, found->cost) - over;
    found->cost = static_cast<double>(*written);
    cheapest = !found->suffices;
    found->suffices &= over <= 0;
    if (found->suffices || cheapest || i == mostSearches)
      break;
    found = search();
  }
  for (unsigned i = 0; found && found->suffices && isUnsigned(); ++i) {
    auto error = writtenErrorOf(found->levels, true);
    if (!error)
      return error.takeError();
    found->error = *error;
    if (!bound.getNumOccurrences() || *error <= bound)
      break;
    found->suffices = false;
    if (i == mostSearches)
      break;
    most *= 0.9 * bound / *error;
    found = search();
  }
  if (!found)
    return inFile(input, found.takeError());
  phase(nullptr);
  if (!found->suffices) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (bound.getNumOccurrences()) {
      os << llvm::format("with each operator at its finest the error is still %.4g, more than %.4g", found->error,
                         bound.getValue());
      if (llvm::any_of(scheme.inputs, isStored) || llvm::any_of(scheme.outputs, isStored))
        os << "; that of ends in integers is part of it, --input_dtype and --output_dtype float32 keep them floats";
    } else {
      os << (cheapest ? "with each operator at its cheapest the cost is still "
                      : "the cost of what was found is still ")
         << llvm::format("%.6g, more than %.6g", found->cost, bytes ? mostBytes.getValue() : mostTime.getValue());
    }
    fail(inFile(input, makeError(text)));
    return false;
  }
  llvm::outs() << llvm::format("mean absolute error: %.4g at a cost of %.6g; %.4g at the least, of %.6g\n",
                               found->error, found->cost, found->errorAtLeast, found->leastCost);
  for (auto [op, level] : llvm::zip_equal(graph().operators, found->levels))
    if (level != Level::Int8)
      llvm::outs() << "  " << shown(level) << ' ' << op.opName() << ' ' << printable(nameOf(op), 200) << '\n';
  if (llvm::Error error = keep("FINAL", found->levels, found->error))
    return error;
  if (llvm::Error error = finish(found->levels))
    return error;
  return true;
}

/// Milliseconds of each layer, all others at the same level: the least of some runs, for what disturbs makes them
/// longer. An operator's time is that of what computes its result. A level at which our engine does not run the model
/// is left out.
llvm::Error Solver::measureCosts() {
  LevelCosts costs(graph().operators.size());
  for (Level level : {Level::Int8, Level::Int16, Level::Float}) {
    auto model = read();
    if (!model)
      return model.takeError();
    if (level != Level::Float)
      if (llvm::Error error = quantize(*model, Levels(costs.size(), level), true))
        return error;
    eval::CompileOptions options;
    options.engine = eval::Engine::Fast;
    phase("executing");
    auto session = eval::compile(*model->model, options);
    if (!session) {
      note(shown(level) + " is left out: " + llvm::toString(session.takeError()));
      continue;
    }
    llvm::StringMap<double> least; // by the name of the first result
    auto inputs = records->read(0);
    if (!inputs)
      return inputs.takeError();
    std::vector<eval::TensorRef> refs(inputs->begin(), inputs->end());
    eval::State state;
    eval::RunOptions run;
    run.state = &state;
    bool failed = false;
    for (unsigned round = 0; round < 10 && !failed; ++round) {
      run.timer = [&](const Operator &op, auto begin, auto end) {
        double ms = std::chrono::duration<double, std::milli>(end - begin).count();
        auto [known, isNew] = least.try_emplace(nameOf(op), ms);
        known->second = std::min(known->second, ms);
      };
      auto outputs = session->run(refs, run);
      if (!outputs)
        note(shown(level) + " is left out: " + llvm::toString(outputs.takeError()));
      failed = !outputs;
    }
    for (auto [op, cost] : llvm::zip_equal(graph().operators, costs))
      if (auto found = least.find(nameOf(op)); !failed && found != least.end())
        cost[static_cast<size_t>(level)] = found->second;
  }
  phase(nullptr);
  return writeFile(writeCosts, costsText(costs, graph(), "ms", isUnsigned()));
}

/// The first entry is about all; those of other levels follow, and the model's ends.
std::string Solver::recipeOf(const Levels &levels) const {
  llvm::json::Array entries;
  auto add = [&](const std::string &regex, llvm::StringRef operation, Level level, llvm::StringRef granularity) {
    llvm::json::Object entry{{"regex", llvm::json::fixUTF8(regex)}, {"operation", operation}};
    entry["algorithm_key"] = level == Level::Float ? "no_quantize" : "min_max_uniform_quantize";
    if (level != Level::Float)
      entry["op_config"] = llvm::json::Object{
          {"activation_tensor_config",
           llvm::json::Object{{"num_bits", level == Level::Int16 ? 16 : 8}, {"symmetric", level == Level::Int16}}},
          {"weight_tensor_config",
           llvm::json::Object{{"num_bits", 8},
                              {"symmetric", true},
                              {"granularity", granularity == "layer" ? "TENSORWISE" : "CHANNELWISE"}}},
          {"compute_precision", "INTEGER"}};
    entries.push_back(std::move(entry));
  };
  add(".*", "*", Level::Int8, granularity);
  for (auto [op, level] : llvm::zip_equal(graph().operators, levels))
    if (level != Level::Int8 && !nameOf(op).empty())
      add("^" + llvm::Regex::escape(nameOf(op)) + "$", "*", level, "channel");
  auto addEnd = [&](llvm::StringRef name, TensorType type) { // behind the layers, for an output has the name of one
    Level level = type == TensorType::INT16 ? Level::Int16 : type == TensorType::FLOAT32 ? Level::Float : Level::Int8;
    add(".*", name, level, "channel");
  };
  addEnd("INPUT", scheme.inputs.front());
  addEnd("OUTPUT", scheme.outputs.front());
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(entries)));
  return text;
}

std::string Solver::configOf(const Levels &levels) const {
  if (!isUnsigned())
    return recipeOf(levels);
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream out(os, 2);
  out.object([&] {
    out.attribute("default_quantization_dtype", quantizedType.getValue());
    out.attribute("default_granularity", granularity.getValue());
    out.attribute("model_path", llvm::json::fixUTF8(llvm::sys::path::filename(input)));
    out.attributeArray("layers", [&] {
      for (auto [op, level] : llvm::zip_equal(graph().operators, levels))
        if (level != Level::Int8 && !nameOf(op).empty())
          out.object([&, &op = op, level = level] {
            out.attribute("name", llvm::json::fixUTF8(nameOf(op)));
            out.attribute("dtype", shown(level));
            out.attribute("granularity", "channel");
          });
    });
  });
  return text + "\n";
}

llvm::Error Solver::keep(const std::string &number, const Levels &levels, double error) {
  if (intermediate.empty())
    return llvm::Error::success();
  llvm::raw_string_ostream(errors) << number << ' ' << llvm::format("%.9g", error) << '\n';
  std::string folder = intermediate + "/";
  if (llvm::Error failed = writeFile(folder + "errors.mpq.txt", errors))
    return failed;
  if (number[0] == 'Q')
    return llvm::Error::success();
  bool final = number == "FINAL";
  if (llvm::Error failed = writeFile(folder + (final ? "FinalConfiguration" : "Configuration_" + number) + ".mpq.json",
                                     configOf(levels)))
    return failed;
  auto model = read();
  if (final || !model)
    return model.takeError();
  if (llvm::Error failed = quantize(*model, levels, false))
    return failed;
  return save(*model, folder + "quantized_" + number + ".mpq.circle", {});
}

/// Whether the layers in front have more error than those behind, as visq says.
llvm::Expected<bool> Solver::inFront() const {
  auto errors = readFile(visqFile, report::readVisq);
  if (!errors)
    return errors.takeError();
  std::vector<unsigned> depths = depthsOf(graph());
  unsigned most = depths.empty() ? 0 : *llvm::max_element(depths);
  double front = 0, behind = 0;
  bool any = false;
  for (auto [op, depth] : llvm::zip_equal(graph().operators, depths)) {
    auto error = errors->find(nameOf(op));
    if (error == errors->end())
      continue;
    any = true;
    (depth * 2 <= most ? front : behind) += error->second;
  }
  if (!any)
    return makeError(visqFile + ": tells of no tensor of this model");
  return front >= behind;
}

llvm::Expected<MixedPrecision> Solver::solve() {
  auto measure = [&](const WideLayers &wide) { return insideErrorOf(levelsOf(wide)); };
  std::vector<unsigned> depths = depthsOf(graph());
  if (bisection == "auto" && visqFile.empty()) {
    auto front = bisectDepth(depths, true, ratio, measure);
    if (!front)
      return front.takeError();
    auto behind = bisectDepth(depths, false, ratio, measure);
    if (!behind)
      return behind.takeError();
    return llvm::count(front->wide, true) <= llvm::count(behind->wide, true) ? std::move(front) : std::move(behind);
  }
  bool front = bisection != "false";
  if (bisection == "auto") {
    auto more = inFront();
    if (!more)
      return more.takeError();
    front = *more;
  }
  return bisectDepth(depths, front, ratio, measure);
}

llvm::Error Solver::finish(const Levels &levels) {
  if (!configFile.empty())
    if (llvm::Error error = writeFile(configFile, configOf(levels)))
      return error;
  return output.empty() ? llvm::Error::success()
                        : commands::rewriteFile(
                              input, output,
                              [&](Imported &imported, PayloadStore &) {
                                llvm::Error error = unpack(imported);
                                return error ? std::move(error) : quantize(imported, levels, false);
                              },
                              door());
}

llvm::Expected<bool> Solver::run() {
  if (llvm::Error error = open())
    return error;
  auto done = [](llvm::Error error) -> llvm::Expected<bool> {
    if (error)
      return error;
    return true;
  };
  auto typesOf = [](const cl::opt<std::string> &given) {
    return commands::typesOf({given.getNumOccurrences() ? given : quantizedType}, TensorType::UINT8);
  };
  auto in = typesOf(inputType), out = typesOf(outputType);
  if (!in || !out)
    return firstError(in, out);
  scheme.inputs = *in;
  scheme.outputs = *out;
  if (llvm::Error error = takeRanges())
    return error;
  if (!intermediate.empty())
    if (llvm::Error error = makeFolder(intermediate))
      return error;
  if (byPatterns()) {
    WideLayers wide(graph().operators.size(), false);
    for (const WideLayers &part :
         {layerNorms ? layerNormVariances(graph()) : wide, softmaxes ? softmaxExponents(graph()) : wide})
      for (size_t i = 0; i < wide.size(); ++i)
        wide[i] = wide[i] || part[i];
    llvm::outs() << llvm::count(wide, true) << " of " << wide.size() << " operators have 16 bits\n";
    return done(finish(levelsOf(wide)));
  }
  eval::CompileOptions options;
  options.engine = eval::Engine::Fast;
  auto session = eval::compile(*original.model, options);
  if (!session)
    return inFile(input, session.takeError());
  reference.emplace(std::move(*session));
  auto ports = reference->inputs();
  if (!ports)
    return inFile(input, ports.takeError());
  auto opened = commands::recordsAt(data, *ports, dataFormat);
  if (!opened)
    return opened.takeError();
  records = std::move(*opened);
  if (!writeCosts.empty())
    return done(measureCosts());
  if (budgets())
    return solveBudget();
  auto found = solve();
  if (!found)
    return inFile(input, found.takeError());
  phase(nullptr);
  llvm::outs() << llvm::format(
      "mean absolute error: %.4g in 8 bits, %.4g in 16, %.4g with %zu of %zu operators in 16\n", found->narrowError,
      found->wideError, found->error, static_cast<size_t>(llvm::count(found->wide, true)), found->wide.size());
  for (auto [op, wide] : llvm::zip_equal(graph().operators, found->wide))
    if (wide)
      llvm::outs() << "  " << op.opName() << ' ' << printable(nameOf(op), 200) << '\n';
  if (llvm::Error error = keep("FINAL", levelsOf(found->wide), found->error))
    return error;
  auto written = writtenErrorOf(levelsOf(found->wide), true);
  if (!written)
    return inFile(input, written.takeError());
  phase(nullptr);
  llvm::outs() << llvm::format("%.4g as it is written, its ends included\n", *written);
  return done(finish(levelsOf(found->wide)));
}

int checkAndRun() {
  if (input.empty() || (output.empty() && configFile.empty() && writeCosts.empty()))
    return fail("needs --input_model, and --output_model or --config; --help shows examples");
  if (!isUnsigned() && quantizedType != "int8")
    return fail("--quantized_dtype: \"" + printable(quantizedType) + "\": only uint8 and int8 are mixed with 16 bits");
  if (!isUnsigned() && byPatterns())
    return fail("patterns are of uint8");
  if (!(ratio >= 0 && ratio <= 1))
    return fail("--qerror_ratio lies between 0 and 1");
  unsigned searches = (bisection.getNumOccurrences() != 0) + budgets() + !writeCosts.empty();
  if (searches + byPatterns() != 1)
    return fail("needs one of --bisection, --max_error, --max_bytes, --max_time, --measure_costs and --patterns");
  if (mostTime.getNumOccurrences() && costFile.empty())
    return fail("--max_time needs --costs; --measure_costs writes such a file");
  if (!costFile.empty() && (!budgets() || mostBytes.getNumOccurrences()))
    return fail("--costs goes with --max_time or --max_error");
  if (!levelNames.empty() && !budgets())
    return fail("--levels goes with --max_error, --max_bytes or --max_time");
  for (const std::string &name : levelNames)
    if (name != quantizedType && name != "int16" && name != "float32")
      return fail("--levels: \"" + printable(name) + "\" is none; give some of " + quantizedType + ",int16,float32");
  if (bisection.getNumOccurrences() && bisection != "auto" && bisection != "true" && bisection != "false")
    return fail("--bisection: \"" + printable(bisection) + "\" is none; give auto, true or false");
  if (searches && data.empty())
    return fail("needs --data: records, or the word random");
  auto found = Solver().run();
  return !found ? fail(found.takeError()) : *found ? 0 : 2;
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(
      argc, argv, "circle-mpqsolver", {&category},
      "Finds the layers of a quantised model that need 16 bits or floats, and quantises so.\n\n"
      "  circle-mpqsolver --bisection auto --qerror_ratio 0.3 --data images.h5 \\\n"
      "                   --input_model net.circle --output_model net_mixed.circle\n"
      "  circle-mpqsolver --max_error 0.01 --data images.npy --input_model net.circle --config mixed.json\n"
      "  circle-mpqsolver --max_bytes 500000 --data images.npy --input_model net.circle --config mixed.json\n"
      "  circle-mpqsolver --measure_costs costs.json --data images.npy --input_model net.circle\n"
      "  circle-mpqsolver --max_time 3.5 --costs costs.json --data images.npy --input_model net.circle --config "
      "mixed.json\n"
      "  circle-mpqsolver --quantized_dtype int8 --max_error 0.01 --data images.npy --input_model net.tflite --config "
      "recipe.json\n"
      "  circle-mpqsolver --u8_softmax_with_s16_sub_exp --input_model net_minmax.circle --output_model out.circle\n",
      checkAndRun);
}
