/// Quantises models: ONE's modes, and TensorFlow Lite's schemes.

#include "ir/OpenFile.h"
#include "passes/Pipeline.h"
#include "quantize/Blocks.h"
#include "quantize/Config.h"
#include "quantize/Ranges.h"
#include "quantize/Recipe.h"
#include "steps/Quantize.h"
#include "tools/Driver.h"
#include "tools/NoteOrder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;
using namespace origo::quantize;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options"), ones("Modes of ONE's tool, of which there is one a run");
cl::list<std::string> arguments(cl::Positional, cl::desc("INPUT OUTPUT"), cl::cat(category));

using SchemeName = steps::TfliteScheme::Name;
cl::opt<SchemeName>
    schemeName("scheme", cl::cat(category), cl::desc("A scheme of TensorFlow Lite:"),
               cl::values(clEnumValN(SchemeName::Int8, "int8", "all of it in 8 bits"),
                          clEnumValN(SchemeName::Int16x8, "int16x8", "activations in 16 bits, weights in 8"),
                          clEnumValN(SchemeName::Dynamic, "dynamic", "weights in 8 bits, activations while it runs"),
                          clEnumValN(SchemeName::Weights, "weights", "weights in 8 bits, widened in the graph"),
                          clEnumValN(SchemeName::Float16, "float16", "constants as halves")));
cl::opt<std::string> recipe("recipe", cl::value_desc("FILE"), cl::cat(category),
                            cl::desc("Instead of --scheme: a recipe of ai-edge-quantizer (JSON)"));
cl::opt<std::string>
    data("input_data", cl::value_desc("PATH"), cl::cat(category),
         cl::desc("Records to take ranges from first, as record-minmax does with min and max, or the word "
                  "random; without: the ranges that INPUT has"));
cl::opt<std::string> statisticsFile("statistics", cl::value_desc("FILE"), cl::cat(category),
                                    cl::desc("Takes ranges from what record-minmax --stats wrote; also --stats"));
cl::list<std::string> inputTypes("input_type", cl::CommaSeparated, cl::value_desc("TYPE"), cl::cat(category),
                                 cl::desc("Of inputs that are floats: uint8, int8, int16 or float32; one for all or "
                                          "one for each. Without a mode: of a model that is quantised, whose "
                                          "inner tensors stay bit for bit; no data needed"));
cl::list<std::string> outputTypes("output_type", cl::CommaSeparated, cl::value_desc("TYPE"), cl::cat(category),
                                  cl::desc("The same of outputs"));
cl::opt<bool> strict("strict", cl::cat(category),
                     cl::desc("Refuses a model of which something would stay float, and a recipe with an entry "
                              "that is about nothing: exit status 2"));
cl::list<std::string> keepFloat("keep-float", cl::CommaSeparated, cl::value_desc("NAME"), cl::cat(category),
                                cl::desc("Operators that stay float, by the name of their first result or by kind"));
cl::opt<unsigned> weightBits("weight_bits", cl::init(8), cl::value_desc("8|4"), cl::cat(category),
                             cl::desc("Of the weights of a scheme; runtimes have 4 for few operators"));
cl::opt<uint64_t> leastElements("min-elements", cl::init(1024), cl::value_desc("N"), cl::cat(category),
                                cl::desc("With --scheme dynamic and weights: weights of fewer elements stay float"));
cl::opt<bool> clipWeights("clip-weights", cl::cat(category),
                          cl::desc("Scales of weights by the least sum of squared errors instead of the greatest "
                                   "magnitude; for 4 bits"));
cl::opt<bool> perLayer("per-tensor", cl::cat(category), cl::desc("One scale for all weights of an operator"));
cl::opt<bool> perChannelDense("per-channel-dense", cl::cat(category),
                              cl::desc("Weights of FULLY_CONNECTED have a scale for each row; older runtimes may "
                                       "refuse"));
cl::opt<int>
    blockSize("block_size", cl::value_desc("32|64|128|256"), cl::cat(category),
              cl::desc("With --scheme dynamic --weight_bits 4: each so many weights in a row of FULLY_CONNECTED "
                       "have a scale"));
cl::opt<bool>
    equalize("equalize", cl::cat(category),
             cl::desc("Gives channels of consecutive filters like ranges first, which one scale for all needs; "
                      "with --input_data"));
cl::opt<double>
    smooth("smooth", cl::value_desc("ALPHA"), cl::cat(category),
           cl::desc("Gives channels of activations like ranges first, at the expense of the filters that read them "
                    "(SmoothQuant): from 0, which evens the filters out, to 1; often 0.5; with --input_data"));
cl::opt<bool>
    absorb("absorb", cl::cat(category),
           cl::desc("Channels of activations that stay far from zero come nearer to it, and the bias of what reads "
                    "them takes that back; after --equalize and --smooth; with --input_data"));
cl::opt<bool>
    gptq("gptq", cl::cat(category),
         cl::desc("Each weight becomes the one or the other of the two integers beside it, so that results change "
                  "least (GPTQ); for 4 bits; with --input_data"));
cl::opt<bool>
    biasCorrection("bias-correction", cl::cat(category),
                   cl::desc("Adds to biases what rounding of the weights takes from the mean; with --input_data"));
cl::opt<bool> verbose("verbose", cl::desc("Accepted; what was done is always said"), cl::cat(category));
cl::alias verboseShort("V", cl::aliasopt(verbose), cl::desc("Same as --verbose"), cl::cat(category));
cl::opt<bool> verifyEach("verify-each", cl::cat(category), cl::desc("Verifies the model after each rewrite"));

cl::opt<origin::Embed>
    embed("embed-origin", cl::init(origin::Embed::Full), cl::cat(category),
          cl::desc("The origin map inside the model:"),
          cl::values(clEnumValN(origin::Embed::Full, "full", "with source names (default)"),
                     clEnumValN(origin::Embed::Ids, "ids", "without names, which stay in the side file"),
                     clEnumValN(origin::Embed::None, "none", "nothing")));
cl::opt<bool> noOriginJson("no-origin-json", cl::cat(category), cl::desc("No side file OUTPUT.origin.json"));

cl::list<std::string> fake("quantize_dequantize_weights", cl::multi_val(3), cl::cat(ones),
                           cl::desc("float32 TYPE GRANULARITY: rounds weights, which stay floats"));
cl::list<std::string> full("quantize_with_minmax", cl::multi_val(3), cl::cat(ones),
                           cl::desc("float32 TYPE GRANULARITY: uint8 by layer or channel, int16 by channel; the model "
                                    "has ranges from record-minmax"));
cl::list<std::string> weightsOnly("quantize_weights", cl::multi_val(3), cl::cat(ones),
                                  cl::desc("float32 TYPE channel: weights as int4, int8 or int16"));
cl::list<std::string> requantized("requantize", cl::multi_val(2), cl::cat(ones),
                                  cl::desc("int8 uint8: what is int8 becomes uint8, of the same numbers"));
cl::opt<bool> fakeQuantized("fake_quantize", cl::cat(ones),
                            cl::desc("Integers become floats, each followed by QUANTIZE and DEQUANTIZE"));
cl::opt<bool> onnx("quantize_onnx_fq_model", cl::cat(ones),
                   cl::desc("A model that ONNX quantised in name only: custom ONNXQuantizeLinear and "
                            "ONNXDequantizeLinear say types and scales"));
cl::list<std::string> forced("force_quantparam", cl::multi_val(3), cl::cat(ones),
                             cl::desc("TENSOR SCALE ZERO_POINT: gives a tensor these; may be repeated"));
cl::list<std::string> copied("copy_quantparam", cl::multi_val(2), cl::cat(ones),
                             cl::desc("FROM TO: gives a tensor the parameters of another; may be repeated"));
cl::opt<std::string> config("config", cl::value_desc("FILE"), cl::cat(ones), cl::desc("Layers of other types (JSON)"));
cl::opt<bool> tfMaxPool("TF-style_maxpool", cl::cat(ones), cl::desc("MAX_POOL_2D has the scale of its input"));
cl::opt<bool> saveMinMax("save_min_max", cl::cat(ones), cl::desc("Keeps the recorded ranges beside the scales"));
cl::opt<bool> profileData("generate_profile_data", cl::cat(ones), cl::desc("Accepted; origins are always kept"));

bool refused = false; ///< by --strict: a verdict, not bad input

llvm::Error checkFrom(const std::string &type) {
  if (llvm::StringRef(type).equals_insensitive("float32"))
    return llvm::Error::success();
  return makeError("\"" + printable(type) + "\": models are quantised from float32");
}

llvm::Expected<Scheme> schemeAsked() {
  Scheme scheme;
  TensorType ends = TensorType::FLOAT32;
  if (!full.empty() || !fake.empty()) {
    const auto &words = full.empty() ? fake : full;
    if (llvm::Error error = checkFrom(words[0]))
      return error;
    auto choice = oneChoice(words[1], words[2]);
    if (!choice)
      return choice.takeError();
    scheme.common = *choice;
    scheme.dialect = Dialect::One;
    scheme.common.mode = full.empty() ? Scheme::Mode::RoundedWeights : Scheme::Mode::Full;
    ends = choice->activations;
  } else if (!requantized.empty()) {
    if (!llvm::StringRef(requantized[0]).equals_insensitive("int8") ||
        !llvm::StringRef(requantized[1]).equals_insensitive("uint8"))
      return makeError("--requantize goes from int8 to uint8 only");
    scheme.dialect = Dialect::One;
    scheme.common.mode = Scheme::Mode::Unsigned;
  } else if (fakeQuantized) {
    scheme.dialect = Dialect::One;
    scheme.common.mode = Scheme::Mode::Fake;
  } else if (onnx) {
    scheme.dialect = Dialect::One;
  } else if (!weightsOnly.empty()) {
    if (llvm::Error error = checkFrom(weightsOnly[0]))
      return error;
    std::string type = llvm::StringRef(weightsOnly[1]).lower();
    if (!llvm::StringRef(weightsOnly[2]).equals_insensitive("channel"))
      return makeError("--quantize_weights goes by channel only");
    if (type != "int4" && type != "int8" && type != "int16")
      return makeError("\"" + printable(type) + "\" is no type for weights alone; give int4, int8 or int16");
    scheme.dialect = Dialect::One;
    scheme.common.mode = Scheme::Mode::Weights;
    scheme.common.weights = type == "int4" ? TensorType::INT4 : type == "int8" ? TensorType::INT8 : TensorType::INT16;
  } else {
    steps::TfliteScheme asked;
    asked.name = schemeName;
    asked.fourBits = weightBits == 4;
    asked.clipsWeights = clipWeights;
    asked.perChannel = !perLayer;
    asked.perChannelDense = perChannelDense;
    asked.blockSize = blockSize;
    asked.leastElements = leastElements;
    scheme = steps::schemeOf(asked);
  }
  auto inputs = steps::typesOf(inputTypes, ends), outputs = steps::typesOf(outputTypes, ends);
  if (!inputs || !outputs)
    return firstError(inputs, outputs);
  // By themselves, ends of such a model are stored as their pairs say.
  if (!onnx || !inputTypes.empty())
    scheme.inputs = *inputs;
  if (!onnx || !outputTypes.empty())
    scheme.outputs = *outputs;
  scheme.poolKeepsScale = tfMaxPool;
  return scheme;
}

llvm::Expected<std::unique_ptr<Records>> recordsOfData(llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) {
  auto records = steps::recordsAt(data, inputs);
  if (records)
    noteOrder(inputs, **records);
  return records;
}

/// `changed`: numbers are others by now than those that ranges were recorded of. Ranges that the model carries stay
/// where data are there for something else.
llvm::Error takeRanges(Model &model, const Scheme &scheme, bool changed) {
  if (data.empty() && statisticsFile.empty())
    return llvm::Error::success();
  bool carries = scheme.needsRanges() && steps::carriesRanges(model);
  bool keeps = carries && !changed && statisticsFile.empty() && scheme.needsMoments();
  llvm::Expected<Statistics> statistics = Statistics();
  if (!statisticsFile.empty()) {
    statistics = readFile(statisticsFile, Statistics::parse);
    if (!statistics)
      return statistics.takeError();
  } else {
    phase("executing");
    statistics = steps::calibrate(model, recordsOfData);
    if (!statistics)
      return statistics.takeError();
  }
  if (keeps)
    steps::leaveCarried(model, *statistics);
  std::vector<std::string> silent;
  if (llvm::Error error = steps::setRanges(model, *statistics, silent))
    return error;
  if (carries)
    note(keeps ? "the ranges that the model carries are kept; --input_data is for the corrections"
               : "ranges are taken anew, in the place of those that the model carries");
  if (!silent.empty())
    note(withoutRange(silent));
  return llvm::Error::success();
}

llvm::Error quantizeModel(Imported &imported, PayloadStore &store) {
  Model &model = *imported.model;
  auto scheme = schemeAsked();
  if (!scheme)
    return scheme.takeError();
  if (!fake.empty())
    clearParameters(model);
  if (onnx)
    if (llvm::Error error = steps::readOnnxFakes(model, *scheme, store, verifyEach))
      return error;
  if (!config.empty()) {
    auto file = openFile(config);
    if (!file)
      return file.takeError();
    if (llvm::Error error = readConfig((*file)->getBuffer(), model, *scheme))
      return inFile(config, std::move(error));
  }
  if (!recipe.empty()) {
    auto file = openFile(recipe);
    if (!file)
      return file.takeError();
    auto vain = readRecipe((*file)->getBuffer(), model, *scheme);
    if (!vain)
      return inFile(recipe, vain.takeError());
    if (strict && !vain->empty()) {
      refused = true;
      return inFile(recipe, makeError("--strict: " + vain->front()));
    }
    for (const std::string &text : *vain)
      note(printable(recipe, 300) + ": " + text);
  }
  if (llvm::Error error = steps::keepFloat(model, keepFloat, *scheme))
    return error;
  scheme->common.choosesRounding |= gptq;
  scheme->common.correctsBias |= biasCorrection;
  for (auto &layer : scheme->layers) {
    layer.second.choosesRounding |= gptq;
    layer.second.correctsBias |= biasCorrection;
  }
  if (equalize) {
    if (data.empty())
      return makeError(
          "--equalize changes the ranges of tensors, so that they have to be taken afterwards: give --input_data");
    if (llvm::Error error = steps::equalizeChannels(model, store, verifyEach))
      return error;
  }
  if (smooth.getNumOccurrences() > 0) {
    if (data.empty() || !(smooth >= 0 && smooth <= 1))
      return makeError("--smooth takes a number from 0 to 1, and looks at records: give --input_data");
    phase("executing");
    if (llvm::Error error = steps::smoothChannels(model, recordsOfData, smooth, store, verifyEach))
      return error;
  }
  if (absorb) {
    if (data.empty())
      return makeError("--absorb looks at records: give --input_data");
    phase("executing");
    if (llvm::Error error = steps::absorbBiases(model, recordsOfData, store, verifyEach))
      return error;
  }
  bool carried = scheme->dialect == Dialect::Tflite && scheme->needsRanges() && carriesScales(model);
  if (carried) {
    bool alone = data.empty() && statisticsFile.empty();
    auto tensors = steps::readCarried(model, *scheme, alone, store, verifyEach);
    if (!tensors)
      return tensors.takeError();
    note(llvm::Twine(*tensors) + " tensors have scales in the model, and keep them" +
         (alone ? "; nothing is calibrated" : ""));
  }
  if (llvm::Error error = takeRanges(model, *scheme, equalize || absorb || smooth.getNumOccurrences() > 0))
    return error;
  if (scheme->needsMoments()) {
    if (data.empty())
      return makeError("GPTQ and corrected biases need to see what operators compute: give --input_data");
    phase("executing");
    if (llvm::Error error = steps::learnFrom(model, recordsOfData, *scheme))
      return error;
  }
  if (!carried)
    if (llvm::Error error = steps::wantRanges(model, *scheme))
      return error;
  phase("quantising");
  RunOptions options;
  options.verifyEach = verifyEach;
  options.onRefusal = [](llvm::StringRef text) { note(text); };
  auto unquantized = steps::quantizeModel(model, *scheme, store, options);
  if (!unquantized)
    return unquantized.takeError();
  if (strict)
    if (llvm::Error error = steps::refuseUnquantized(*unquantized)) {
      refused = true;
      return error;
    }
  llvm::StringRef stays = requantized.empty() && !fakeQuantized ? "float" : "as it is";
  for (const std::string &text : steps::unquantizedWords(*unquantized, stays))
    note(text);
  if (onnx)
    clearParameters(model);
  if (fake.empty() && !saveMinMax)
    clearRanges(model);
  return llvm::Error::success();
}

llvm::Error changeParameters(Imported &imported, PayloadStore &) {
  Model &model = *imported.model;
  for (size_t i = 0; i + 2 < forced.size(); i += 3) {
    double scale;
    int64_t zeroPoint;
    if (llvm::StringRef(forced[i + 1]).getAsDouble(scale) || !(scale > 0) || !(scale <= 3e38))
      return makeError("--force_quantparam: \"" + printable(forced[i + 1]) + "\" is no scale");
    if (llvm::StringRef(forced[i + 2]).getAsInteger(10, zeroPoint))
      return makeError("--force_quantparam: \"" + printable(forced[i + 2]) + "\" is no zero point");
    if (llvm::Error error = forceParameters(model, forced[i], static_cast<float>(scale), zeroPoint))
      return error;
  }
  for (size_t i = 0; i + 1 < copied.size(); i += 2)
    if (llvm::Error error = copyParameters(model, copied[i], copied[i + 1]))
      return error;
  return llvm::Error::success();
}

llvm::Error changeEnds(Imported &imported, PayloadStore &store) {
  Ends ends;
  for (auto [names, types] : {std::pair(&inputTypes, &ends.inputs), std::pair(&outputTypes, &ends.outputs)})
    if (!names->empty()) {
      auto wanted = steps::typesOf(*names, TensorType::FLOAT32);
      if (!wanted)
        return wanted.takeError();
      *types = *wanted;
    }
  RunOptions options;
  options.verifyEach = verifyEach;
  options.onRefusal = [](llvm::StringRef text) { note(text); };
  std::vector<std::string> told;
  if (llvm::Error error = steps::changeEnds(*imported.model, ends, store, options, told))
    return error;
  for (const std::string &text : told)
    note(text);
  if (told.empty())
    note("all ends are of these types already");
  return llvm::Error::success();
}

void tellSizes(const std::string &input, const std::string &output) {
  uint64_t before = sizeOf(input), after = 0;
  if (before && !isStream(output) && !llvm::sys::fs::file_size(output, after))
    note(llvm::Twine(before) + " bytes before, " + llvm::Twine(after) + " after" +
         (embed == origin::Embed::None ? "" : ", origins included"));
}

int checkAndRun() {
  bool isScheme = schemeName.getNumOccurrences() > 0;
  if (!isScheme && (weightBits.getNumOccurrences() || clipWeights || perLayer || perChannelDense))
    return fail(
        "--weight_bits, --clip-weights, --per-tensor and --per-channel-dense go with --scheme: ONE's modes and recipes "
        "say by themselves what becomes of weights");
  if (blockSize.getNumOccurrences()) {
    if (!quantize::isBlockSize(blockSize))
      return fail("--block_size is 32, 64, 128 or 256");
    if (!isScheme || schemeName != SchemeName::Dynamic)
      return fail("--block_size goes with --scheme dynamic: kernels take weights of blocks beside floats only");
    if (weightBits != 4)
      return fail("--block_size goes with --weight_bits 4: the runtime has no kernel for 8 bits with scales of blocks");
    if (gptq || biasCorrection || perLayer)
      return fail("--block_size does not go with --gptq, --bias-correction or --per-tensor");
  }
  if (leastElements.getNumOccurrences() &&
      (!isScheme || (schemeName != SchemeName::Dynamic && schemeName != SchemeName::Weights)))
    return fail("--min-elements goes with --scheme dynamic or weights, which store weights alone");
  if (weightBits != 8 && weightBits != 4)
    return fail("--weight_bits is 8 or 4");
  unsigned modes = !recipe.empty() + isScheme + !fake.empty() + !full.empty() + !weightsOnly.empty() +
                   !requantized.empty() + fakeQuantized + onnx + !forced.empty() + !copied.empty();
  bool onlyEnds = modes == 0 && (!inputTypes.empty() || !outputTypes.empty());
  if (arguments.size() != 2 || (modes != 1 && !onlyEnds))
    return fail("needs one mode, --scheme, or types of ends, INPUT and OUTPUT; --help shows examples");
  if (onlyEnds && (!data.empty() || !statisticsFile.empty() || gptq || biasCorrection || equalize || absorb ||
                   smooth.getNumOccurrences() || !keepFloat.empty() || !config.empty()))
    return fail("types of ends alone are for a model that is quantised, which takes no data and no other options; to "
                "quantise one, give --scheme");
  bool onlyParameters = !forced.empty() || !copied.empty();
  if (llvm::Error error = rewriteFile(arguments[0], arguments[1],
                                      onlyEnds         ? changeEnds
                                      : onlyParameters ? changeParameters
                                                       : quantizeModel,
                                      embed, !noOriginJson)) {
    fail(std::move(error));
    return refused ? 2 : 1;
  }
  if (!onlyParameters)
    tellSizes(arguments[0], arguments[1]);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<char *> words = withStatistics(argc, argv);
  return tools::main(
      argc, words.data(), "circle-quantizer", {&category, &ones},
      "Quantises a model, and keeps for each tensor and operator where it came from.\n\n"
      "  circle-quantizer --scheme int8 --input_data images.npy net.tflite net_int8.tflite\n"
      "  circle-quantizer --scheme int8 --input_type int8 --output_type int8 --stats all.json net.tflite out.tflite\n"
      "  circle-quantizer --scheme dynamic net.tflite net_small.tflite           no data needed; float16 likewise\n"
      "  circle-quantizer --input_type int8 --output_type int8 net_int8.tflite out.tflite       the ends alone\n"
      "ONE's way, in three steps:\n"
      "  circle-quantizer --quantize_dequantize_weights float32 uint8 channel net.circle 1.circle\n"
      "  record-minmax --input_model 1.circle --input_data list.txt --output_model 2.circle\n"
      "  circle-quantizer --quantize_with_minmax float32 uint8 channel 2.circle net_u8.circle\n",
      checkAndRun);
}
