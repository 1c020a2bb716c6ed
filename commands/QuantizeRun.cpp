#include "commands/Best.h"
#include "commands/Labels.h"
#include "commands/Quantize.h"
#include "commands/Related.h"

#include "ir/OpenFile.h"
#include "quantize/Config.h"
#include "quantize/Ranges.h"
#include "quantize/Recipe.h"

namespace origo::commands {

using namespace quantize;
using Request = QuantizeRequest;
using Name = TfliteScheme::Name;

namespace {

llvm::Error checkFrom(const std::string &type) {
  if (llvm::StringRef(type).equals_insensitive("float32"))
    return llvm::Error::success();
  return makeError("\"" + printable(type) + "\": models are quantised from float32");
}

/// ONE's modes; `ends` is what inputs and outputs are unless something else is asked for.
llvm::Error readMode(const Request &request, const Door &door, Scheme &scheme, TensorType &ends) {
  scheme.dialect = Dialect::One;
  if (request.full || request.rounded) {
    const auto &words = request.full ? *request.full : *request.rounded;
    if (llvm::Error error = checkFrom(words[0]))
      return error;
    auto choice = oneChoice(words[1], words[2]);
    if (!choice)
      return choice.takeError();
    scheme.common = *choice;
    scheme.common.mode = request.full ? Scheme::Mode::Full : Scheme::Mode::RoundedWeights;
    ends = choice->activations;
  } else if (request.requantized) {
    if (!llvm::StringRef((*request.requantized)[0]).equals_insensitive("int8") ||
        !llvm::StringRef((*request.requantized)[1]).equals_insensitive("uint8"))
      return makeError(door.spell("requantize") + " goes from int8 to uint8 only");
    scheme.common.mode = Scheme::Mode::Unsigned;
  } else if (request.fakeQuantized) {
    scheme.common.mode = Scheme::Mode::Fake;
  } else if (request.weightsOnly) {
    const auto &words = *request.weightsOnly;
    if (llvm::Error error = checkFrom(words[0]))
      return error;
    std::string type = llvm::StringRef(words[1]).lower();
    if (!llvm::StringRef(words[2]).equals_insensitive("channel"))
      return makeError(door.spell("quantize_weights") + " goes by channel only");
    if (type != "int4" && type != "int8" && type != "int16")
      return makeError("\"" + printable(type) + "\" is no type for weights alone; give int4, int8 or int16");
    scheme.common.mode = Scheme::Mode::Weights;
    scheme.common.weights = type == "int4" ? TensorType::INT4 : type == "int8" ? TensorType::INT8 : TensorType::INT16;
  }
  return llvm::Error::success();
}

llvm::Expected<Scheme> schemeAsked(const Request &request, const Door &door) {
  Scheme scheme;
  TensorType ends = TensorType::FLOAT32;
  if (request.scheme || !request.recipe.empty()) {
    TfliteScheme asked;
    asked.name = request.scheme.value_or(Name::Int8);
    asked.fourBits = request.weightBits == 4;
    asked.clipsWeights = request.clipsWeights;
    asked.perChannel = !request.perTensor;
    asked.perChannelDense = request.perChannelDense;
    asked.blockSize = request.blockSize;
    asked.leastElements = request.leastElements;
    scheme = schemeOf(asked);
  } else if (llvm::Error error = readMode(request, door, scheme, ends)) {
    return error;
  }
  auto inputs = typesOf(request.inputTypes, ends), outputs = typesOf(request.outputTypes, ends);
  if (!inputs || !outputs)
    return firstError(inputs, outputs);
  // By themselves, ends of such a model are stored as their pairs say.
  if (!request.onnx || !request.inputTypes.empty())
    scheme.inputs = *inputs;
  if (!request.onnx || !request.outputTypes.empty())
    scheme.outputs = *outputs;
  scheme.poolKeepsScale = request.poolKeepsScale;
  return scheme;
}

/// One run of the command.
class Quantization {
public:
  Quantization(const Request &request, Imported &imported, PayloadStore &store, const Door &door, Verdict &verdict)
      : request(request), model(*imported.model), lineage(imported.lineage), store(store), door(door), verdict(verdict),
        records(request.records, door) {}
  llvm::Error run();
  llvm::Error runScored();
  llvm::Error changeEnds();
  llvm::Error changeParameters();

private:
  const Request &request;
  Model &model;
  const origin::Lineage &lineage;
  PayloadStore &store;
  const Door &door;
  Verdict &verdict;
  RecordsOpener records;
  Scheme scheme;

  llvm::Error readFiles();
  llvm::Error readParts(const SourceLayers &sources);
  llvm::Error refuse(const llvm::Twine &what);
  llvm::Error wantRecords(llvm::StringRef option, const llvm::Twine &why);
  llvm::Error balance();
  /// Tensors become others than those that ranges have been recorded of.
  bool changesRanges() const { return request.equalize || request.absorb || request.smooth; }
  bool isGiven() const { return request.statistics || !request.statisticsFile.empty(); }
  llvm::Expected<Statistics> statistics();
  llvm::Error takeRanges();
  llvm::Error storeModel();
  PipelineOptions runOptions() const;
};

PipelineOptions Quantization::runOptions() const {
  PipelineOptions options;
  options.verifyEach = request.verifyEach;
  options.onRefusal = [this](llvm::StringRef text) { door.note(text); };
  return options;
}

llvm::Error Quantization::refuse(const llvm::Twine &what) {
  verdict = Verdict::Refused;
  return makeError(door.spell("strict") + ": " + what);
}

/// What is quantised alone, and what is not.
llvm::Error Quantization::readParts(const SourceLayers &sources) {
  if (request.only.empty() && request.keepFloat.empty())
    return llvm::Error::success();
  Parts parts(model, sources);
  for (auto [option, words] : {std::pair("only", &request.only), std::pair("keep-float", &request.keepFloat)}) {
    if (words->empty())
      continue;
    auto named = parts.named(*words);
    if (!named)
      return makeError(door.spell(option) + ": " + llvm::toString(named.takeError()));
    if (words == &request.only)
      *named = parts.without(*named);
    keepFloat(*named, scheme);
  }
  return llvm::Error::success();
}

/// Layers that the config and the recipe name, and those that stay float.
llvm::Error Quantization::readFiles() {
  SourceLayers sources = sourceLayers(lineage);
  if (!request.config.empty()) {
    auto file = openFile(request.config);
    if (!file)
      return file.takeError();
    if (llvm::Error error = readConfig((*file)->getBuffer(), model, scheme, sources))
      return inFile(request.config, std::move(error));
  }
  if (!request.recipe.empty()) {
    auto file = openFile(request.recipe);
    if (!file)
      return file.takeError();
    auto vain = readRecipe((*file)->getBuffer(), model, scheme, sources);
    if (!vain)
      return inFile(request.recipe, vain.takeError());
    if (request.strict && !vain->empty())
      return inFile(request.recipe, refuse(vain->front()));
    for (const std::string &text : *vain)
      door.note(printable(request.recipe, 300) + ": " + text);
  }
  return readParts(sources);
}

llvm::Error Quantization::wantRecords(llvm::StringRef option, const llvm::Twine &why) {
  if (request.records.any())
    return llvm::Error::success();
  return makeError(door.spell(option) + " " + why + ": give " + door.spell("data"));
}

/// Changes the numbers of weights and activations, none of results.
llvm::Error Quantization::balance() {
  if (request.equalize) {
    if (llvm::Error error =
            wantRecords("equalize", "changes the ranges of tensors, so that they have to be taken afterwards"))
      return error;
    if (llvm::Error error = equalizeChannels(model, store, request.verifyEach))
      return error;
  }
  if (request.smooth) {
    if (llvm::Error error = wantRecords("smooth", "looks at records"))
      return error;
    door.phase("executing");
    if (llvm::Error error = smoothChannels(model, records, *request.smooth, store, request.verifyEach))
      return error;
  }
  if (request.absorb) {
    if (llvm::Error error = wantRecords("absorb", "looks at records"))
      return error;
    door.phase("executing");
    if (llvm::Error error = absorbBiases(model, records, store, request.verifyEach))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Statistics> Quantization::statistics() {
  if (request.statistics && !changesRanges())
    return *request.statistics;
  if (!request.statisticsFile.empty() && !changesRanges())
    return readFile(request.statisticsFile, Statistics::parse);
  door.phase("executing");
  return calibrate(model, records, request.summary && request.summary->needsHistograms());
}

/// Ranges that the model carries stay where data are there for something else, unless its numbers are others by now
/// than those that they were recorded of.
llvm::Error Quantization::takeRanges() {
  if (!request.hasRanges())
    return llvm::Error::success();
  bool carries = scheme.needsRanges() && carriesRanges(model);
  bool keeps = carries && !changesRanges() && !isGiven() && scheme.needsMoments();
  auto taken = statistics();
  if (!taken)
    return taken.takeError();
  if (keeps)
    leaveCarried(model, *taken);
  std::vector<std::string> silent;
  if (llvm::Error error = setRanges(model, *taken, Summaries{request.summary.value_or(wholeRange)}, silent))
    return error;
  if (carries)
    door.note(keeps ? "the ranges that the model carries are kept; " + door.spell("data") + " is for the corrections"
                    : "ranges are taken anew, in the place of those that the model carries");
  else if (scheme.needsRanges() && isGiven() && changesRanges())
    door.note("ranges are taken anew, for tensors are others than those of " + door.spell("statistics"));
  if (!silent.empty())
    door.note(withoutRange(silent));
  return llvm::Error::success();
}

llvm::Error Quantization::storeModel() {
  door.phase("quantising");
  uint32_t rewrites = model.rewrites;
  auto unquantized = quantizeModel(model, scheme, store, runOptions());
  if (!unquantized)
    return unquantized.takeError();
  if (model.rewrites == rewrites && unquantized->empty())
    door.note("there is nothing to quantise: no operator " +
              llvm::Twine(scheme.needsRanges() ? "computes floats" : "has float weights"));
  if (request.strict)
    if (llvm::Error error = refuseUnquantized(*unquantized))
      return refuse(llvm::toString(std::move(error)));
  for (const std::string &text :
       unquantizedWords(*unquantized, request.requantized || request.fakeQuantized ? "as it is" : "float"))
    door.note(text);
  for (const std::string &text : ownScaleWords(model))
    door.note(text);
  if (request.onnx)
    clearParameters(model);
  if (!request.rounded && !request.savesRanges)
    clearRanges(model);
  return llvm::Error::success();
}

llvm::Error Quantization::run() {
  auto asked = schemeAsked(request, door);
  if (!asked)
    return asked.takeError();
  scheme = std::move(*asked);
  if (request.rounded)
    clearParameters(model);
  if (request.onnx)
    if (llvm::Error error = readOnnxFakes(model, scheme, store, request.verifyEach))
      return error;
  if (llvm::Error error = readFiles())
    return error;
  auto learns = [&](Scheme::Choice &choice) {
    choice.adapts |= request.gptaq;
    choice.choosesRounding |= request.gptq || request.gptaq; // of what cannot be adapted
    choice.correctsBias |= request.biasCorrection || request.gptaq;
  };
  learns(scheme.common);
  for (auto &layer : scheme.layers)
    learns(layer.second);
  for (auto &one : scheme.operators)
    learns(one.second);
  const FollowedChoices choices(model, scheme);
  bool carried = scheme.dialect == Dialect::Tflite && scheme.needsRanges() && carriesScales(model);
  bool unpacks = scheme.dialect == Dialect::Tflite && scheme.common.mode != Scheme::Mode::Float16 && !carried;
  bool given = isGiven() && !changesRanges(); // which count the tensors of the model as it was
  if (unpacks && !given)
    if (llvm::Error error = unpackConstants(model, store, request.verifyEach))
      return error;
  if (llvm::Error error = balance())
    return error;
  if (carried) {
    auto tensors = readCarried(model, scheme, !request.hasRanges(), store, request.verifyEach);
    if (!tensors)
      return tensors.takeError();
    door.note(llvm::Twine(*tensors) + " tensors have scales in the model, and keep them" +
              (request.hasRanges() ? "" : "; nothing is calibrated"));
  }
  if (llvm::Error error = takeRanges())
    return error;
  if (unpacks && given)
    if (llvm::Error error = unpackConstants(model, store, request.verifyEach))
      return error;
  choices.follow(model, scheme);
  if (scheme.needsMoments()) {
    if (!request.records.any())
      return makeError("GPTQ and corrected biases need to see what operators compute: give " + door.spell("data"));
    door.phase("executing");
    auto progress = [&](uint64_t done, uint64_t all) {
      if (door.progress)
        door.progress(done, all, 1);
    };
    if (llvm::Error error = learnFrom(model, records, scheme, progress))
      return error;
  }
  if (!carried && lacksRanges(model, scheme))
    return makeError("no tensor has a range: give " + door.spell("data") + " or " + door.spell("statistics") +
                     ", or run record-minmax first");
  return storeModel();
}

/// How often the model finds the class that records have, before and after.
llvm::Error Quantization::runScored() {
  auto labels = Labels::read(request.labels);
  if (!labels)
    return labels.takeError();
  auto opened = [&]() -> llvm::Expected<std::unique_ptr<Records>> {
    auto session = eval::compile(model, {});
    if (!session)
      return session.takeError();
    auto ports = session->inputs();
    if (!ports)
      return ports.takeError();
    return records(*ports, "");
  }();
  if (!opened)
    return opened.takeError();
  door.phase("executing");
  auto before = scoreClasses(model, **opened, *labels);
  if (!before)
    return inFile(request.labels, before.takeError());
  if (llvm::Error error = run())
    return error;
  door.phase("executing");
  auto after = scoreClasses(model, **opened, *labels);
  if (!after)
    return inFile(request.labels, after.takeError());
  for (const std::string &line : scoreWords(*before, *after))
    door.note(line);
  return llvm::Error::success();
}

llvm::Error Quantization::changeParameters() {
  std::string force = door.spell("force_quantparam");
  for (const auto &[tensor, scaleText, zeroText] : request.forced) {
    double scale;
    int64_t zeroPoint;
    if (llvm::StringRef(scaleText).getAsDouble(scale) || !(scale > 0) || !(scale <= 3e38))
      return makeError(force + ": \"" + printable(scaleText) + "\" is no scale");
    if (llvm::StringRef(zeroText).getAsInteger(10, zeroPoint))
      return makeError(force + ": \"" + printable(zeroText) + "\" is no zero point");
    if (llvm::Error error = forceParameters(model, tensor, static_cast<float>(scale), zeroPoint))
      return error;
  }
  for (const auto &[from, to] : request.copied)
    if (llvm::Error error = copyParameters(model, from, to))
      return error;
  return llvm::Error::success();
}

llvm::Error Quantization::changeEnds() {
  Ends ends;
  for (auto [names, types] :
       {std::pair(&request.inputTypes, &ends.inputs), std::pair(&request.outputTypes, &ends.outputs)})
    if (!names->empty()) {
      auto wanted = typesOf(*names, TensorType::FLOAT32);
      if (!wanted)
        return wanted.takeError();
      *types = *wanted;
    }
  std::vector<std::string> told;
  if (llvm::Error error = commands::changeEnds(model, ends, store, runOptions(), told))
    return error;
  for (const std::string &text : told)
    door.note(text);
  if (told.empty())
    door.note("all ends are of these types already");
  return llvm::Error::success();
}

} // namespace

/// No more types than there are ends.
static llvm::Error checkEnds(const Request &request, const Model &model, const Door &door) {
  size_t inputs = 0, outputs = 0;
  for (const auto &graph : model.subgraphs) {
    inputs = std::max(inputs, graph->inputs.size());
    outputs = std::max(outputs, graph->outputs.size());
  }
  for (auto [option, types, ends] : {std::tuple("input_type", request.inputTypes.size(), inputs),
                                     std::tuple("output_type", request.outputTypes.size(), outputs)})
    if (types > 1 && types > ends)
      return makeError(door.spell(option) + " names " + llvm::Twine(types) +
                       " types, more than the model has of these ends: " + llvm::Twine(ends));
  return llvm::Error::success();
}

llvm::Error run(const Request &request, Imported &imported, PayloadStore &store, const Door &door, Verdict &verdict) {
  if (llvm::Error error = checkEnds(request, *imported.model, door))
    return error;
  if (request.best) {
    auto chosen = chooseBest(request, door);
    if (!chosen)
      return chosen.takeError();
    chosen->best = false;
    return run(*chosen, imported, store, door, verdict);
  }
  Quantization quantization(request, imported, store, door, verdict);
  return request.onlyEnds()         ? quantization.changeEnds()
         : request.onlyParameters() ? quantization.changeParameters()
         : !request.labels.empty()  ? quantization.runScored()
                                    : quantization.run();
}

} // namespace origo::commands
