#include "commands/Mixed.h"

#include "commands/Files.h"
#include "commands/QuantizeModel.h"
#include "export/Writer.h"
#include "ir/OpenFile.h"
#include "report/errors/Search.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::commands {

using namespace quantize;

namespace {

constexpr std::array mixedRows{
    option<&MixedRequest::input>("input_model", "MODEL",
                                 "A float model; with ranges from record-minmax, else they are taken from --data"),
    option<&MixedRequest::output>("output_model", "MODEL", "The quantised one"),
    option<&MixedRequest::ratio>("qerror_ratio", "R",
                                 "The error may be so much of the way from all in 16 bits (0) to all in 8 (1)"),
    option<&MixedRequest::bisection>(
        "bisection", "WHERE",
        "16 bits in front (true), behind (false), or where --visq_file has more error; without "
        "that file auto takes the way with fewer layers in 16 bits"),
    option<&MixedRequest::visqFile>("visq_file", "FILE", "Errors by layer, from visq"),
    option<&MixedRequest::bound>(
        "max_error", "E",
        "Instead of --bisection: the cheapest uint8, int16 and float32 of layers with an error of "
        "at most E, ends included; exit status 2 where none has it"),
    option<&MixedRequest::mostBytes>("max_bytes", "N",
                                     "Likewise: the least error with at most N bytes of weights and results of layers"),
    option<&MixedRequest::mostTime>("max_time", "T", "Likewise: the least error that takes at most T, by --costs"),
    option<&MixedRequest::costFile>(
        "costs", "FILE",
        "What each layer costs at each level, in JSON, for --max_time, and for --max_error instead of bytes"),
    option<&MixedRequest::writeCosts>("measure_costs", "FILE",
                                      "Writes such a file: milliseconds on our engine, with --data", {.writes = true}),
    option<&MixedRequest::levelNames>("levels", "uint8,int16,float32", "Only these levels, for budgets"),
    option<&MixedRequest::inputType>("input_dtype", "TYPE",
                                     "Of inputs: uint8, int8, int16 or float32; default: --quantized_dtype"),
    option<&MixedRequest::outputType>("output_dtype", "TYPE", "Of outputs"),
    option<&MixedRequest::quantizedType>(
        "quantized_dtype", "TYPE",
        "What 8 bits are: uint8 as in ONE, or int8 as in TensorFlow Lite, where 16 bits are int16x8, weights keep 8, "
        "and --config is a recipe (circle-quantizer --recipe)"),
    option<&MixedRequest::granularity>("granularity", "WHAT", "channel or layer"),
    option<&MixedRequest::tfMaxPool>("TF-style_maxpool", "MAX_POOL_2D has the scale of its input"),
    option<&MixedRequest::saveMinMax>("save_min_max", "Keeps the recorded ranges beside the scales"),
    option<&MixedRequest::patterns>(
        "patterns", "Instead of --bisection: all in 8 bits, but for what the two options below name; needs no data"),
    option<&MixedRequest::layerNorms>("u8_layernorm_with_s16_variance",
                                      "Variances of layer norms have 16 bits; stands for --patterns"),
    option<&MixedRequest::softmaxes>("u8_softmax_with_s16_sub_exp", "SUB and EXP of softmaxes have 16 bits, likewise"),
    option<&MixedRequest::intermediate>("save_intermediate", "DIR",
                                        "Writes each configuration, its model and the errors there"),
    option<&MixedRequest::configFile>("config", "FILE", "Writes what was found for circle-quantizer --config",
                                      {.writes = true}),
    option<&MixedRequest::verbose>("verbose", "Ignored, for compatibility; results are always reported",
                                   {.also = "V", .python = Without::Ignored}),
};
constexpr auto allRows = joinRows(mixedRows, recordRows<&MixedRequest::data>);

llvm::Error checkMixed(const MixedRequest &request, const Door &door) {
  auto wrong = [&](llvm::StringRef option, const llvm::Twine &what) { return makeError(door.spell(option) + what); };
  if (request.input.empty() || (request.output.empty() && request.configFile.empty() && request.writeCosts.empty()))
    return makeError("needs " + door.spell("input_model") + ", and " + door.spell("output_model") + " or " +
                     door.spell("config") + "; --help shows examples");
  if (!request.isUnsigned() && request.quantizedType != "int8")
    return wrong("quantized_dtype",
                 ": \"" + printable(request.quantizedType) + "\": only uint8 and int8 are mixed with 16 bits");
  if (!request.isUnsigned() && request.byPatterns())
    return makeError("patterns are of uint8");
  if (!(request.ratio >= 0 && request.ratio <= 1))
    return wrong("qerror_ratio", " lies between 0 and 1");
  unsigned searches = request.bisection.has_value() + request.budgets() + !request.writeCosts.empty();
  if (searches + request.byPatterns() != 1)
    return makeError("needs one of " + door.spell("bisection") + ", " + door.spell("max_error") + ", " +
                     door.spell("max_bytes") + ", " + door.spell("max_time") + ", " + door.spell("measure_costs") +
                     " and " + door.spell("patterns"));
  if (request.mostTime && request.costFile.empty())
    return wrong("max_time",
                 " needs " + door.spell("costs") + "; " + door.spell("measure_costs") + " writes such a file");
  if (!request.costFile.empty() && (!request.budgets() || request.mostBytes))
    return wrong("costs", " goes with " + door.spell("max_time") + " or " + door.spell("max_error"));
  if (!request.levelNames.empty() && !request.budgets())
    return wrong("levels", " goes with " + door.spell("max_error") + ", " + door.spell("max_bytes") + " or " +
                               door.spell("max_time"));
  for (const std::string &name : request.levelNames)
    if (name != request.quantizedType && name != "int16" && name != "float32")
      return wrong("levels",
                   ": \"" + printable(name) + "\" is none; give some of " + request.quantizedType + ",int16,float32");
  if (searches && !request.data.any())
    return makeError("needs " + door.spell("data") + ": records, or the word random");
  return checkRecords(request.data, door);
}

} // namespace

/// The first entry is about all; those of other levels follow, and the model's ends.
std::string MixedSolver::recipeOf(const Levels &levels) const {
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
  add(".*", "*", Level::Int8, request.granularity);
  for (auto [op, level] : llvm::zip_equal(graph().operators, levels))
    if (level != Level::Int8 && !nameOf(op).empty())
      add("^" + llvm::Regex::escape(nameOf(op)) + "$", "*", level, "channel");
  auto addEnd = [&](llvm::StringRef name,
                    TensorType type) { // behind the layers, for an request.output has the name of one
    Level level = type == TensorType::INT16 ? Level::Int16 : type == TensorType::FLOAT32 ? Level::Float : Level::Int8;
    add(".*", name, level, "channel");
  };
  addEnd("INPUT", scheme.inputs.front());
  addEnd("OUTPUT", scheme.outputs.front());
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(entries)));
  return text;
}

std::string MixedSolver::configOf(const Levels &levels) const {
  if (!request.isUnsigned())
    return recipeOf(levels);
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream out(os, 2);
  out.object([&] {
    out.attribute("default_quantization_dtype", request.quantizedType);
    out.attribute("default_granularity", request.granularity);
    out.attribute("model_path", llvm::json::fixUTF8(llvm::sys::path::filename(request.input)));
    out.attributeArray("layers", [&] {
      for (auto [op, level] : llvm::zip_equal(graph().operators, levels))
        if (level != Level::Int8 && !nameOf(op).empty())
          out.object([&, &op = op, level = level] {
            out.attribute("name", llvm::json::fixUTF8(nameOf(op)));
            out.attribute("dtype", request.shown(level));
            out.attribute("granularity", "channel");
          });
    });
  });
  return text + "\n";
}

llvm::Error MixedSolver::keep(const std::string &number, const Levels &levels, double error) {
  if (request.intermediate.empty())
    return llvm::Error::success();
  llvm::raw_string_ostream(errors) << number << ' ' << llvm::format("%.9g", error) << '\n';
  std::string folder = request.intermediate + "/";
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
  return save(*model, folder + "quantized_" + number + ".mpq.circle", {}, door);
}

Levels levelsOf(const WideLayers &wide) {
  Levels levels;
  for (bool isWide : wide)
    levels.push_back(isWide ? Level::Int16 : Level::Int8);
  return levels;
}

/// Whether the layers in front have more error than those behind, as visq says.
llvm::Expected<bool> MixedSolver::inFront() const {
  auto errors = readFile(request.visqFile, report::readVisq);
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
    return makeError(request.visqFile + ": tells of no tensor of this model");
  return front >= behind;
}

llvm::Expected<MixedPrecision> MixedSolver::solve() {
  auto measure = [&](const WideLayers &wide) { return insideErrorOf(levelsOf(wide)); };
  std::vector<unsigned> depths = depthsOf(graph());
  if (request.bisection == Bisection::Auto && request.visqFile.empty()) {
    auto front = bisectDepth(depths, true, request.ratio, measure);
    if (!front)
      return front.takeError();
    auto behind = bisectDepth(depths, false, request.ratio, measure);
    if (!behind)
      return behind.takeError();
    return llvm::count(front->wide, true) <= llvm::count(behind->wide, true) ? std::move(front) : std::move(behind);
  }
  bool front = request.bisection != Bisection::Behind;
  if (request.bisection == Bisection::Auto) {
    auto more = inFront();
    if (!more)
      return more.takeError();
    front = *more;
  }
  return bisectDepth(depths, front, request.ratio, measure);
}

llvm::Error MixedSolver::finish(const Levels &levels) {
  if (!request.configFile.empty())
    if (llvm::Error error = writeFile(request.configFile, configOf(levels)))
      return error;
  return request.output.empty() ? llvm::Error::success()
                                : rewriteFile(
                                      request.input, request.output,
                                      [&](Imported &imported, PayloadStore &) {
                                        llvm::Error error = unpack(imported);
                                        return error ? std::move(error) : quantize(imported, levels, false);
                                      },
                                      door);
}

llvm::Error MixedSolver::run() {
  if (llvm::Error error = open())
    return error;
  auto typeOfEnd = [&](const std::optional<std::string> &given) {
    return typesOf({given.value_or(request.quantizedType)}, TensorType::UINT8);
  };
  auto in = typeOfEnd(request.inputType), out = typeOfEnd(request.outputType);
  if (!in || !out)
    return firstError(in, out);
  scheme.inputs = *in;
  scheme.outputs = *out;
  if (llvm::Error error = takeRanges())
    return error;
  if (!request.intermediate.empty())
    if (llvm::Error error = makeFolder(request.intermediate))
      return error;
  if (request.byPatterns()) {
    WideLayers wide(graph().operators.size(), false);
    for (const WideLayers &part : {request.layerNorms ? layerNormVariances(graph()) : wide,
                                   request.softmaxes ? softmaxExponents(graph()) : wide})
      for (size_t i = 0; i < wide.size(); ++i)
        wide[i] = wide[i] || part[i];
    llvm::outs() << llvm::count(wide, true) << " of " << wide.size() << " operators have 16 bits\n";
    return finish(levelsOf(wide));
  }
  eval::CompileOptions options;
  options.engine = eval::Engine::Fast;
  auto session = eval::compile(*original.model, options);
  if (!session)
    return inFile(request.input, session.takeError());
  reference.emplace(std::move(*session));
  auto ports = reference->inputs();
  if (!ports)
    return inFile(request.input, ports.takeError());
  auto opened = request.data.open(*ports, "");
  if (!opened)
    return opened.takeError();
  records = std::move(*opened);
  if (!request.writeCosts.empty())
    return measureCosts();
  if (request.budgets())
    return solveBudget();
  auto found = solve();
  if (!found)
    return inFile(request.input, found.takeError());
  door.phase(nullptr);
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
    return inFile(request.input, written.takeError());
  door.phase(nullptr);
  llvm::outs() << llvm::format("%.4g as it is written, its ends included\n", *written);
  return finish(levelsOf(found->wide));
}

static llvm::Error mix(MixedRequest &request, Words words, const Door &door, Verdict &verdict) {
  if (!words.empty())
    return makeError("there are too many arguments; --help shows examples");
  if (llvm::Error error = checkMixed(request, door))
    return error;
  return MixedSolver(request, door, verdict).run();
}

const Command mixCommand = makeCommand<mix>(
    "circle-mpqsolver", "",
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
    [] { return Options(allRows); });

} // namespace origo::commands
