#include "commands/Quantize.h"

#include "commands/Files.h"
#include "commands/Labels.h"
#include "quantize/Blocks.h"

#include "llvm/Support/FileSystem.h"

namespace origo::commands {

using namespace quantize;
using Name = TfliteScheme::Name;

template <>
inline constexpr auto choicesOf<Name> =
    std::to_array<ChoiceOf<Name>>({{"int8", Name::Int8, "all of it in 8 bits"},
                                   {"int16x8", Name::Int16x8, "activations in 16 bits, weights in 8"},
                                   {"dynamic", Name::Dynamic, "weights in 8 bits, activations while it runs"},
                                   {"weights", Name::Weights, "weights in 8 bits, widened in the graph"},
                                   {"float16", Name::Float16, "constants as halves"}});
namespace {

using Request = QuantizeRequest;
constexpr llvm::StringRef ones = "Modes of ONE's tool, of which there is one a run";

constexpr std::array ownRows{
    option<&Request::scheme>("scheme", "SCHEME", "A scheme of TensorFlow Lite:"),
    option<&Request::recipe>("recipe", "FILE", "Instead of a scheme: a recipe of ai-edge-quantizer (JSON)"),
    option<&Request::statisticsFile>(
        "statistics", "FILE", "Takes ranges from what record-minmax --stats wrote; also --stats", {.also = "stats"}),
    option<&Request::inputTypes>("input_type", "TYPE",
                                 "Of inputs that are floats: uint8, int8, int16 or float32; one for all, one for each, "
                                 "or one for each input of any type. Without a mode: of a "
                                 "model that is quantised, whose inner tensors stay bit for bit; no data needed"),
    option<&Request::outputTypes>("output_type", "TYPE", "The same of outputs"),
    option<&Request::strict>("strict", "Refuses a model of which something would stay float, and a recipe with an "
                                       "entry that is about nothing: exit status 2"),
    option<&Request::keepFloat>("keep-float", "NAME",
                                "What stays float: names, kinds, scopes, globs, re:EXPRESSION, A..B, last:3; "
                                "docs/quantization.md has them all"),
    option<&Request::only>("only", "NAME", "What alone is quantised, in the same words"),
    option<&Request::labels>("labels", "FILE",
                             "The class of each record, a number a line, also behind the name of its file, or a .npy "
                             "file: how often it is found before and after"),
    option<&Request::score>("score", "COMMAND",
                            "A measure of your own: runs it with the path of each model as its last word, and shows "
                            "the last line that it prints",
                            {.python = Without::Prints, .cfg = Without::Prints}),
    option<&Request::weightBits>("weight_bits", "8|4", "Of the weights of a scheme; runtimes have 4 for few operators"),
    option<&Request::leastElements>("min-elements", "N",
                                    "With the schemes dynamic and weights: weights of fewer elements stay float"),
    option<&Request::clipsWeights>(
        "clip-weights",
        "Scales of weights by the least sum of squared errors instead of the greatest magnitude; for 4 bits"),
    option<&Request::perTensor>("per-tensor", "One scale for all weights of an operator"),
    option<&Request::perChannelDense>(
        "per-channel-dense", "Weights of FULLY_CONNECTED have a scale for each row; older runtimes may refuse"),
    option<&Request::blockSize>(
        "block_size", "32|64|128|256",
        "With the scheme dynamic and weights of 4 bits: each so many weights in a row of FULLY_CONNECTED have a scale"),
    option<&Request::equalize>(
        "equalize",
        "Gives channels of consecutive filters like ranges first, which one scale for all needs; with data"),
    option<&Request::smooth>("smooth", "ALPHA",
                             "Gives channels of activations like ranges first, at the expense of the filters that read "
                             "them (SmoothQuant): from 0, which evens the filters out, to 1; often 0.5; with data"),
    option<&Request::absorb>("absorb", "Channels of activations that stay far from zero come nearer to it, and the "
                                       "bias of what reads them takes that back; after equalize and smooth; with data"),
    option<&Request::gptq>("gptq", "Each weight becomes the one or the other of the two integers beside it, so that "
                                   "results change least (GPTQ); for 4 bits; with data"),
    option<&Request::gptaq>("gptaq",
                            "The same by what the quantised operators before give, so that their errors are made "
                            "up for; with scales, and corrected biases (GPTAQ); the best for 4 bits; with data"),
    option<&Request::biasCorrection>("bias-correction",
                                     "Adds to biases what rounding of the weights takes from the mean; with data"),
    option<&Request::best>(
        "best", "Tries these options, and ways to take ranges, on every fifth record, which calibration does "
                "not see then, and takes what is best; with at least five records"),
    option<&Request::time>("time", "SECONDS",
                           "The best of what can be tried in so many seconds; says in how many steps"),
    option<&Request::steps>("steps", "N", "The best of the first N steps, which is the same each time"),
    option<&Request::verbose>("verbose", "Ignored, for compatibility; results are always reported",
                              {.also = "V", .python = Without::Ignored, .cfg = Without::Ignored}),
    option<&Request::verifyEach>("verify-each", "Verifies the model after each rewrite"),
    option<&Request::rounded>("quantize_dequantize_weights",
                              "float32 TYPE GRANULARITY: rounds weights, which stay floats", {.category = ones}),
    option<&Request::full>("quantize_with_minmax",
                           "float32 TYPE GRANULARITY: uint8 by layer or channel, int16 by channel; the model has "
                           "ranges from record-minmax",
                           {.category = ones}),
    option<&Request::weightsOnly>("quantize_weights", "float32 TYPE channel: weights as int4, int8 or int16",
                                  {.category = ones}),
    option<&Request::requantized>("requantize", "int8 uint8: what is int8 becomes uint8, of the same numbers",
                                  {.category = ones}),
    option<&Request::fakeQuantized>("fake_quantize", "Integers become floats, each followed by QUANTIZE and DEQUANTIZE",
                                    {.category = ones}),
    option<&Request::onnx>("quantize_onnx_fq_model",
                           "A model that ONNX quantised in name only: custom ONNXQuantizeLinear and "
                           "ONNXDequantizeLinear say types and scales",
                           {.category = ones}),
    option<&Request::forced>("force_quantparam", "TENSOR SCALE ZERO_POINT: gives a tensor these; may be repeated",
                             {.category = ones}),
    option<&Request::copied>("copy_quantparam", "FROM TO: gives a tensor the parameters of another; may be repeated",
                             {.category = ones}),
    option<&Request::config>("config", "FILE", "Layers of other types (JSON)",
                             {.category = ones, .key = "quant_config"}),
    option<&Request::poolKeepsScale>("TF-style_maxpool", "MAX_POOL_2D has the scale of its input", {.category = ones}),
    option<&Request::savesRanges>("save_min_max", "Keeps the recorded ranges beside the scales", {.category = ones}),
    option<&Request::profileData>("generate_profile_data", "The default of --embed-origin is full",
                                  {.category = ones, .python = Without::Ignored}),
};
constexpr auto rows = joinRows(ownRows, recordRows<&Request::records>, originRows<&Request::origins>);

} // namespace

unsigned QuantizeRequest::modes() const {
  return !recipe.empty() + scheme.has_value() + rounded.has_value() + full.has_value() + weightsOnly.has_value() +
         requantized.has_value() + fakeQuantized + onnx + !forced.empty() + !copied.empty();
}

void QuantizeRequest::chooseScheme() {
  if (modes() == 0)
    scheme = hasRanges() ? Name::Int8 : Name::Dynamic;
}

std::string QuantizeRequest::name() const { return scheme ? Codec<Name>::out(*scheme) : "quantized"; }

static llvm::Error checkBlocks(const Request &request, const Door &door) {
  std::string blocks = door.spell("block_size"), scheme = door.spell("scheme");
  if (!isBlockSize(request.blockSize))
    return makeError(blocks + " is 32, 64, 128 or 256");
  if (request.scheme != Name::Dynamic)
    return makeError(blocks + " goes with " + scheme + " dynamic: kernels take weights of blocks beside floats only");
  if (request.weightBits != 4)
    return makeError(blocks + " goes with " + door.spell("weight_bits") +
                     " 4: the runtime has no kernel for 8 bits with scales of blocks");
  if (request.gptq || request.gptaq || request.biasCorrection || request.perTensor)
    return makeError(blocks + " does not go with " + door.spell("gptq") + ", " + door.spell("gptaq") + ", " +
                     door.spell("bias-correction") + " or " + door.spell("per-tensor"));
  return llvm::Error::success();
}

/// What says nothing of a scheme of which tensors, or all numbers, stay floats.
static llvm::Error checkFloats(const Request &request, const Door &door) {
  const std::string scheme = door.spell("scheme");
  const bool isHalf = request.scheme == Name::Float16;
  for (auto [option, asked] : {std::pair("weight_bits", request.weightBits != 8),
                               {"clip-weights", request.clipsWeights},
                               {"per-tensor", request.perTensor},
                               {"per-channel-dense", request.perChannelDense},
                               {"gptq", request.gptq},
                               {"gptaq", request.gptaq},
                               {"bias-correction", request.biasCorrection},
                               {"equalize", request.equalize},
                               {"absorb", request.absorb},
                               {"smooth", request.smooth.has_value()}})
    if (isHalf && asked)
      return makeError(door.spell(option) + " does not go with " + scheme + " float16, which has no integers");
  auto storesEnds = [](const std::string &type) { return !llvm::StringRef(type).equals_insensitive("float32"); };
  for (auto [option, types] :
       {std::pair("input_type", &request.inputTypes), std::pair("output_type", &request.outputTypes)})
    if ((isHalf || request.scheme == Name::Dynamic || request.scheme == Name::Weights) &&
        llvm::any_of(*types, storesEnds))
      return makeError(door.spell(option) + " goes with " + scheme +
                       " int8 or int16x8: of the others, inputs and outputs stay floats");
  return llvm::Error::success();
}

llvm::Error check(const Request &request, const Door &door) {
  std::string scheme = door.spell("scheme");
  const Request fresh;
  if (request.weightBits != 8 && request.weightBits != 4)
    return makeError(door.spell("weight_bits") + " is 8 or 4");
  if (!request.scheme &&
      (request.weightBits != fresh.weightBits || request.clipsWeights || request.perTensor || request.perChannelDense))
    return makeError(door.spell("weight_bits") + ", " + door.spell("clip-weights") + ", " + door.spell("per-tensor") +
                     " and " + door.spell("per-channel-dense") + " go with " + scheme +
                     ": ONE's modes and recipes say by themselves what becomes of weights");
  if (request.perTensor && request.perChannelDense)
    return makeError(door.spell("per-tensor") + " and " + door.spell("per-channel-dense") +
                     " contradict each other: FULLY_CONNECTED has one scale, or one for each row");
  if (llvm::Error error = checkFloats(request, door))
    return error;
  if (request.blockSize)
    if (llvm::Error error = checkBlocks(request, door))
      return error;
  if (request.leastElements != fresh.leastElements && request.scheme != Name::Dynamic &&
      request.scheme != Name::Weights)
    return makeError(door.spell("min-elements") + " goes with " + scheme +
                     " dynamic or weights, which store weights alone");
  if (request.modes() != 1 && !request.onlyEnds())
    return makeError("needs one mode, such as " + scheme + ", or types of ends");
  if (request.onlyEnds() && (request.hasRanges() || request.gptq || request.gptaq || request.biasCorrection ||
                             request.equalize || request.absorb || request.smooth || !request.keepFloat.empty() ||
                             !request.only.empty() || !request.config.empty()))
    return makeError("types of ends alone are for a model that is quantised, which takes no data and no other options; "
                     "to quantise one, give " +
                     scheme);
  if (request.best && (!request.scheme || request.scheme == Name::Float16))
    return makeError(door.spell("best") + " goes with " + scheme + " int8, int16x8, dynamic or weights");
  for (auto [option, bound] : {std::pair("time", request.time), std::pair("steps", request.steps)})
    if (bound && !request.best)
      return makeError(door.spell(option) + " goes with " + door.spell("best"));
  if (request.best && request.records.isRandom())
    return makeError(door.spell("best") + " chooses by records: give " + door.spell("data"));
  if (request.best && request.blockSize)
    return makeError(door.spell("best") + " does not go with " + door.spell("block_size"));
  if (request.smooth && !(*request.smooth >= 0 && *request.smooth <= 1))
    return makeError(door.spell("smooth") + " takes a number from 0 to 1");
  for (const std::string &name : request.only)
    if (llvm::is_contained(request.keepFloat, name))
      return makeError(door.spell("only") + " and " + door.spell("keep-float") + " both name \"" + printable(name) +
                       "\"");
  if (!request.labels.empty() && request.records.isRandom())
    return makeError(door.spell("labels") + " are of records: give " + door.spell("data"));
  return checkRecords(request.records, door);
}

static llvm::Error quantizeFile(Request &request, Words words, const Door &door, Verdict &verdict) {
  std::string input, output;
  if (llvm::Error error = check(request, door))
    return error;
  if (llvm::Error error = takeFiles(input, output, words))
    return error;
  if (!request.score.empty() && (isStream(input) || isStream(output)))
    return makeError(door.spell("score") + " needs files that the command can read, and \"-\" is none");
  uint64_t before = 0, after = 0;
  request.again = [&](PayloadStore &store) { return load(input, {}, store, door); };
  if (request.best && isStream(input))
    return makeError(door.spell("best") + " reads the model several times, and \"-\" can be read once");
  auto change = [&](Imported &imported, PayloadStore &store) {
    before = imported.bytes;
    return run(request, imported, store, door, verdict);
  };
  if (llvm::Error error = rewriteFile(input, output, change, door, request.origins.with(request.profileData),
                                      !request.origins.noSideFile))
    return error;
  if (!request.onlyParameters() && before && !isStream(output) && !llvm::sys::fs::file_size(output, after))
    door.note(llvm::Twine(before) + " bytes before, " + llvm::Twine(after) + " after" +
              (request.origins.embed != origin::Embed::None ? ", origins included" : ""));
  if (!request.score.empty()) {
    auto said = scoreByCommand(request.score, input, output);
    if (!said)
      return said.takeError();
    door.note(*said);
  }
  return llvm::Error::success();
}

const Command quantizeCommand = makeCommand<quantizeFile>(
    "circle-quantizer", "INPUT OUTPUT",
    "Quantises a model, and keeps for each tensor and operator where it came from.\n\n"
    "  circle-quantizer --scheme int8 --data images.npy net.tflite net_int8.tflite\n"
    "  circle-quantizer --scheme int8 --input_type int8 --output_type int8 --stats all.json net.tflite out.tflite\n"
    "  circle-quantizer --scheme dynamic net.tflite net_small.tflite           no data needed; float16 likewise\n"
    "  circle-quantizer --input_type int8 --output_type int8 net_int8.tflite out.tflite       the ends alone\n"
    "ONE's way, in three steps:\n"
    "  circle-quantizer --quantize_dequantize_weights float32 uint8 channel net.circle 1.circle\n"
    "  record-minmax --input_model 1.circle --input_data list.txt --output_model 2.circle\n"
    "  circle-quantizer --quantize_with_minmax float32 uint8 channel 2.circle net_u8.circle\n",
    [] { return Options(rows); });

} // namespace origo::commands
