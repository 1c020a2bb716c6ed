// Writes the networks that the tree's own tests sweep, in folders like those of public models:
//
//     DIR/*.tflite, *.circle   networks (tests/networks/*.cpp), and what the quantiser makes of some
//     DIR/mini                 one operator each, of what the row of each kernel takes
//     DIR/recipes              one known pattern each: the cases of tests/golden
//     DIR/hostile              damaged files
//
//     make_networks DIR        all of them
//     make_networks DIR NAME   the text of one network to standard output

#include "tests/networks/Hostile.h"
#include "tests/networks/Net.h"

#include "eval/Session.h"
#include "ir/Verifier.h"
#include "ir/Versions.h"
#include "passes/Pipeline.h"
#include "quantize/Blocks.h"
#include "quantize/Calibrate.h"
#include "quantize/Plan.h"
#include "tests/GoldenCases.h"
#include "tests/RandomInputs.h"
#include "tests/Samples.h"
#include "tests/fuzz/RandomOperator.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/Regex.h"

using namespace origo;
using namespace origo::test;
using llvm::StringRef;

namespace {

using quantize::Scheme;
using enum origo::TensorType;

struct Quantized {
  const char *file, *of;
  Scheme::Mode mode = Scheme::Mode::Full;
  TensorType activations = INT8, weights = INT8, ends = INT8;
  bool perChannel = true;
  int32_t blockSize = 0;
};

constexpr Quantized quantized[] = {
    {"mobilenet_i8.tflite", "mobilenet_fused_f32.tflite"},
    {"resnet_i8_float_ends.tflite", "resnet_f32.tflite", Scheme::Mode::Full, INT8, INT8, FLOAT32},
    {"unet_i8_per_tensor.tflite", "unet_f32.tflite", Scheme::Mode::Full, INT8, INT8, INT8, false},
    {"pyramid_16x8.tflite", "pyramid_f32.tflite", Scheme::Mode::Full, INT16, INT8, INT16},
    {"inception_hybrid.tflite", "inception_f32.tflite", Scheme::Mode::Weights},
    {"mobilenet_v3_f16w.tflite", "mobilenet_v3_f32.tflite", Scheme::Mode::Float16},
    {"small_lstm_i8.tflite", "small_lstm_f32.tflite"},
    {"blazeface_i8_widened.tflite", "blazeface_f32.tflite", Scheme::Mode::WidenedWeights},
};

[[noreturn]] void fail(const std::string &what, llvm::Error error) {
  llvm::errs() << "make_networks: " << what << ": " << llvm::toString(std::move(error)) << '\n';
  std::exit(1);
}
void check(const std::string &what, llvm::Error error) {
  if (error)
    fail(what, std::move(error));
}
template <class Value> Value take(const std::string &what, llvm::Expected<Value> value) {
  if (!value)
    fail(what, value.takeError());
  return std::move(*value);
}

/// As a converter states them.
void stateVersions(Model &model) {
  std::array<int, 3> newest{1, 5, 0};
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      op.version = std::max(op.version, lowestVersion(op));
      std::array<int, 3> numbers{};
      llvm::SmallVector<StringRef> parts;
      runtimeOf(op.code, op.version).split(parts, '.');
      for (size_t i = 0; i < std::min<size_t>(parts.size(), 3); ++i)
        parts[i].getAsInteger(10, numbers[i]);
      newest = std::max(newest, numbers);
    }
  if (model.format != Format::Tflite)
    return;
  std::string text = std::to_string(newest[0]) + "." + std::to_string(newest[1]) + "." + std::to_string(newest[2]);
  text.resize(16);
  model.metadata.push_back({"min_runtime_version", &model.addBuffer(Payload::owned(std::move(text)))});
}

void write(std::unique_ptr<Model> model, const std::string &path) {
  Imported imported;
  imported.model = std::move(model);
  check(path, restart(imported));
  ExportOptions options;
  options.format = imported.model->format;
  options.embed = origin::Embed::None;
  check(path, exportModel(*imported.model, imported.lineage, path, options));
}

std::string textOf(const Network &network) {
  Net net(StringRef(network.file).ends_with(".tflite"), network.file);
  network.make(net);
  return net.text();
}

std::unique_ptr<Model> parsed(const std::string &text, const std::string &name, PayloadStore &store) {
  auto model = take(name, parseText(text, "", store));
  stateVersions(*model);
  return model;
}

void writeQuantized(const Quantized &way, const std::string &text, const std::string &path) {
  PayloadStore store;
  auto model = take(way.file, parseText(text, "", store));
  model->becomeSource();
  Scheme scheme;
  scheme.common.mode = way.mode;
  scheme.common.activations = way.activations;
  scheme.common.weights = way.weights;
  scheme.common.perChannel = way.perChannel;
  scheme.common.blockSize = way.blockSize;
  if (way.activations == INT16)
    scheme.common.bias = INT64;
  if (scheme.needsRanges()) {
    scheme.inputs = scheme.outputs = {way.ends};
    quantize::CalibrateOptions options;
    options.compile.engine = eval::Engine::Fast;
    auto statistics =
        take(way.file, calibrate(
                           *model, [](auto inputs, StringRef) { return quantize::seededRecords(inputs, 2); }, options));
    std::vector<std::string> silent;
    check(way.file, setRanges(*model, statistics, {{quantize::Summary::Mode::Percentile, 0, 100}}, silent));
  }
  check(way.file, runPipeline(*model, Pipeline::quantization(planBy(scheme)), store));
  quantize::storeBlockScales(*model);
  stateVersions(*model);
  write(std::move(model), path);
}

/// Runs it, and states the shape that its result has: nothing if it does not run.
std::optional<eval::Session::Coverage> stateShape(Model &model, uint64_t seed = 1) {
  eval::CompileOptions how;
  how.engine = eval::Engine::Fast;
  auto session = eval::compile(model, how);
  if (!session) {
    llvm::consumeError(session.takeError());
    return std::nullopt;
  }
  auto inputs = randomInputs(*session->inputs(), seed);
  if (!inputs)
    return std::nullopt;
  std::vector<eval::TensorRef> refs(inputs->begin(), inputs->end());
  auto results = session->run(refs);
  if (!results) {
    llvm::consumeError(results.takeError());
    return std::nullopt;
  }
  Value &value = *model.subgraphs[0]->outputs[0];
  value.hasShape = value.hasRank = true;
  value.shape = llvm::ArrayRef<int32_t>(results->front().tensor.shape);
  return session->coverage();
}

/// As .tflite where that has all of it.
void writeEither(Model &model, const std::string &stem, bool preferTflite) {
  stateVersions(model);
  for (bool isTflite : {true, false}) {
    if (isTflite && !preferTflite)
      continue;
    model.format = isTflite ? Format::Tflite : Format::Circle;
    model.version = isTflite ? 3 : 0;
    auto text = [&] {
      std::string printed;
      llvm::raw_string_ostream os(printed);
      printText(model, os, {.inlineBytes = ~uint64_t(0)});
      return printed;
    }();
    if (writeAsFile(text, "", stem + (isTflite ? ".tflite" : ".circle")))
      return;
  }
}

/// Does it contradict no rule of its operators, or, unless `strict`, of their types and shapes only?
bool isLawful(Model &model, bool strict) {
  model.becomeSource();
  return verify(model, strict).empty();
}

/// Of each row an operator that runs, one that the fast engine has code for, and of each operator one that does not
/// run, as far as they are found.
void writeOperators(const std::string &folder) {
  fuzz::RandomOperator generator(1);
  std::map<std::string, unsigned> numbers;
  for (const eval::Kernel &kernel : eval::allKernels()) {
    std::string code = operatorInfo(kernel.code)->name.lower(), number = std::to_string(numbers[code]++);
    bool runs = false, isFast = false, refused = number != "0";
    for (int attempt = 0; attempt < 200 && !(runs && isFast && refused); ++attempt) {
      auto text = generator.make(kernel);
      if (!text)
        break;
      PayloadStore store;
      auto model = parseText(*text, "", store);
      if (!model) {
        llvm::consumeError(model.takeError());
        continue;
      }
      auto coverage = stateShape(**model);
      bool isGood = coverage && isLawful(**model, true), byFast = isGood && !coverage->fast.empty();
      // The engine takes some that contradict a rule, and some for other inputs: no example of either.
      auto runsWith = [&](uint64_t seed) { return stateShape(**model, seed).has_value(); };
      if (isGood
              ? runs && (isFast || !byFast)
              : refused || coverage || !isLawful(**model, false) || llvm::any_of(llvm::seq<uint64_t>(2, 8), runsWith))
        continue;
      writeEither(**model, folder + "/" + code + (!isGood ? "_Neg_" : runs ? "_fast_" : "_") + number, true);
      (isGood ? runs : refused) = true;
      isFast |= byFast;
    }
  }
}

/// But for those that contradict the rules of their operators, or have numbers that are none, so that a rewrite
/// declines.
void writePatterns(const std::string &folder) {
  for (const std::string &file : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + file + ".txt");
    unsigned number = 0;
    for (const Case &item : readCases(buffer ? (*buffer)->getBuffer() : "")) {
      std::string name = std::to_string(++number);
      PayloadStore store;
      auto model = parseText(item.input, goldenFolder(), store);
      if (!model) { // a case of an error
        llvm::consumeError(model.takeError());
        continue;
      }
      if (isLawful(**model, true) && !llvm::Regex("[[ ,-](inf|nan)[],]").match(item.input))
        writeEither(**model, folder + "/" + file + "_" + name, number % 2);
    }
  }
}

void writeAll(const std::string &folder) {
  std::map<std::string, std::string> texts;
  for (const char *part : {"", "/mini", "/recipes", "/hostile", "/hostile/derived"}) {
    std::filesystem::remove_all(folder + part);
    std::filesystem::create_directories(folder + part);
  }
  for (const Network &network : allNetworks()) {
    std::string text = texts[network.file] = textOf(network);
    PayloadStore store;
    write(parsed(text, network.file, store), folder + "/" + network.file);
  }
  for (const Quantized &way : quantized)
    writeQuantized(way, texts.at(way.of), folder + "/" + way.file);
  writeOperators(folder + "/mini");
  writePatterns(folder + "/recipes");
  writeHostile(folder);
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2) {
    writeAll(argv[1]);
    return 0;
  }
  for (const Network &network : allNetworks())
    if (argc == 3 && network.file == argv[2]) {
      llvm::outs() << textOf(network);
      return 0;
    }
  llvm::errs() << "usage: make_networks DIR [NAME]\n";
  return 1;
}
