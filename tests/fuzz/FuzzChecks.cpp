#include "tests/fuzz/FuzzChecks.h"

#include "commands/Files.h"
#include "eval/Baseline.h"
#include "export/Export.h"
#include "import/Import.h"
#include "ir/Error.h"
#include "ir/Verifier.h"
#include "ir/text/Text.h"
#include "origin/check/Check.h"
#include "origin/codec/OriginFile.h"
#include "passes/Pipeline.h"
#include "quantize/Calibrate.h"
#include "quantize/Plan.h"
#include "quantize/Summary.h"
#include "report/target/Target.h"
#include "schema/InputFile.h"
#include "tests/fuzz/FuzzNative.h"
#include "tests/fuzz/FuzzRun.h"
#include "tests/fuzz/NativeKnown.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <random>

using namespace origo;
using namespace origo::fuzz;

namespace {

using Loaded = llvm::Expected<Imported>;

Loaded load(llvm::StringRef text, PayloadStore &store) {
  auto model = parseText(text, "", store);
  return model ? commands::asOwnSource(std::move(*model)) : model.takeError();
}

std::string textOf(Model &model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  PrintOptions options;
  options.inlineBytes = 1 << 20;
  options.layout = false;
  printText(model, os, options);
  return text;
}

std::string bytesOf(llvm::StringRef path) {
  auto buffer = readInput(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::string compareEngines(Model &model, const Run &reference, uint32_t seed, bool &ran, bool &isOdd,
                           bool operatorAlone) {
  Run fast = runOn(eval::Engine::Fast, model, seed);
  if (reference.limited || fast.limited)
    return "";
  if (reference.refused.empty() != fast.refused.empty())
    return "one engine refuses: reference \"" + reference.refused + "\", fast \"" + fast.refused + '"';
  ran = reference.refused.empty();
  isOdd |= reference.isOdd;
  // The fast engine makes something else of NaN and of denormal numbers, or has these where GELU is nearly zero, and
  // goes on from there.
  if (!ran || ((reference.isOdd || fast.isUnsteady) && !operatorAlone))
    return "";
  std::vector<eval::OwnedTensor> outputs;
  for (eval::NamedTensor &output : fast.outputs)
    outputs.push_back(std::move(output.tensor));
  // In a graph, one differing bit decides on integers behind it.
  std::string difference = differenceFrom(reference, outputs, model, seed, operatorAlone);
  return difference.empty() ? "" : "the engines differ: " + difference;
}

/// One pipeline on one text.
class GraphCheck {
public:
  GraphCheck(llvm::StringRef text, uint32_t seed, llvm::StringRef directory, const FuzzNative *native)
      : text(text), seed(seed), directory(directory.str()), native(native) {}
  FuzzOutcome outcome;

  std::string run(const Pipeline &pipeline) {
    PayloadStore store(directory);
    Loaded before = load(text, store), after = load(text, store);
    if (!before || !after)
      return "the text is refused: " + llvm::toString(before ? after.takeError() : before.takeError());
    for (const std::string &violation : verify(*before->model))
      return "the verifier refuses the source: " + violation;
    std::string finding;
    PipelineOptions options = written();
    options.verifyEach = true;
    options.onRefusal = [&](llvm::StringRef refusal) { finding = "a rule is refused: " + refusal.str(); };
    if (llvm::Error error = runPipeline(*after->model, pipeline, store, options))
      return "the pipeline fails: " + llvm::toString(std::move(error));
    if (!finding.empty())
      return finding;
    auto steps = {&GraphCheck::numbers, &GraphCheck::thereAndBack, &GraphCheck::twice, &GraphCheck::divided};
    for (auto step : steps)
      if (finding = (this->*step)(*before, *after, pipeline, store); !finding.empty())
        return finding;
    return "";
  }

  /// Quantised from seeded records, it runs, keeps its laws, and is the same the second time.
  std::string quantized(const quantize::Scheme &scheme) {
    PayloadStore store;
    std::string first;
    for (bool again : {false, true}) {
      Loaded before = load(text, store), after = load(text, store);
      if (!before || !after)
        return llvm::toString(before ? after.takeError() : before.takeError());
      Model &model = *after->model;
      if (scheme.needsRanges()) {
        auto open = [](llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) {
          return quantize::seededRecords(inputs, 2);
        };
        auto statistics = quantize::calibrate(model, open, {});
        if (!statistics) { // what does not run has no ranges
          llvm::consumeError(statistics.takeError());
          return "";
        }
        std::vector<std::string> silent;
        if (llvm::Error error =
                quantize::setRanges(model, *statistics, {{quantize::Summary::Mode::Percentile, 0, 100}}, silent)) {
          llvm::consumeError(std::move(error));
          return "";
        }
      }
      PipelineOptions options = written();
      options.verifyEach = true;
      if (llvm::Error error = runPipeline(model, Pipeline::quantization(quantize::planBy(scheme)), store, options))
        return "the pipeline fails: " + llvm::toString(std::move(error));
      Run was = runOn(eval::Engine::Reference, *before->model, seed), is = runOn(eval::Engine::Reference, model, seed);
      // ONE's runtimes have other kernels, and a loop may wait for a number that is none of the steps.
      llvm::StringRef refusal = is.refused;
      bool excused = refusal.contains("rounds that are allowed") ||
                     (scheme.dialect == quantize::Dialect::One && refusal.contains("no kernel for"));
      if (was.refused.empty() && !is.refused.empty() && !is.limited && !excused)
        return "it does not run any more: " + is.refused;
      std::string result = textOf(model);
      if (again)
        return result == first ? "" : "is another model the second time";
      first = result;
      if (native && nativeTakes && scheme.dialect == quantize::Dialect::Tflite)
        if (std::string refused = native->refusal(result, seed); !refused.empty() && mayRefuse(refused).empty())
          return "the native runtime runs the source and refuses the result: " + refused;
      if (std::string finding = thereAndBack(*before, *after, {}, store); !finding.empty())
        return finding;
    }
    return "";
  }

private:
  /// The native runtime reads .tflite.
  PipelineOptions written() const {
    PipelineOptions options;
    if (native)
      options.format = Format::Tflite;
    return options;
  }
  llvm::StringRef text;
  uint32_t seed;
  std::string directory;
  const FuzzNative *native;
  bool isOdd = false;       ///< NaN or infinity was computed on the way
  bool nativeTakes = false; ///< the native runtime runs the source

  std::string numbers(Imported &before, Imported &after, const Pipeline &, PayloadStore &) {
    Run was = runOn(eval::Engine::Reference, *before.model, seed),
        is = runOn(eval::Engine::Reference, *after.model, seed);
    for (auto [state, run, when] : {std::tuple(&before, &was, " before"), std::tuple(&after, &is, " after")})
      if (std::string finding = compareEngines(*state->model, *run, seed, outcome.ran, isOdd, false); !finding.empty())
        return finding + when + " the passes";
    if (!was.refused.empty())
      return ""; // passes may make something that runs of it
    // What a clamp makes of NaN is not the same in all of its forms, and what overflows does so in one order only.
    if (!outcome.ran || isOdd)
      return "";
    if (std::string finding = inNative(*before.model, was, *after.model, is); !finding.empty())
      return finding;
    auto baseline = eval::Baseline::of(*before.model, {seed});
    if (!baseline)
      return "runs, but not as a baseline: " + llvm::toString(baseline.takeError());
    auto comparison = baseline->compare(*after.model);
    if (!comparison)
      return "runs before the passes only: " + llvm::toString(comparison.takeError());
    for (const eval::Deviation &deviation : comparison->deviations)
      return "tensor \"" + printable(deviation.value->name) + "\" deviates" +
             (deviation.source ? " from source tensor " + std::to_string(*deviation.source) : "") + ": " +
             deviation.text;
    return "";
  }

  std::string inNative(Model &before, const Run &was, Model &after, const Run &is) {
    if (!native)
      return "";
    std::optional<std::string> refused, refusedAfter;
    std::string finding = native->compareGraph(before, was, text, seed, NativeStage::Source, refused, outcome);
    if (!finding.empty())
      return finding + " before the passes";
    nativeTakes = refused == "";
    if (!nativeTakes)
      return "";
    finding = native->compareGraph(after, is, textOf(after), seed, NativeStage::Result, refusedAfter, outcome);
    if (finding.empty() && !refusedAfter.value_or("").empty() && mayRefuse(*refusedAfter).empty())
      finding = "the native runtime refuses: " + *refusedAfter;
    return finding.empty() ? "" : finding + " after the passes";
  }

  std::string path(llvm::StringRef name) const { return directory + "/" + name.str() + ".circle"; }

  static std::string save(Imported &imported, const std::string &to) {
    llvm::Error error = exportModel(*imported.model, imported.lineage, to, {});
    return error ? "cannot be written: " + llvm::toString(std::move(error)) : "";
  }

  std::string thereAndBack(Imported &before, Imported &after, const Pipeline &, PayloadStore &store) {
    std::string printed = textOf(*after.model);
    auto parsed = parseText(printed, "", store);
    if (!parsed)
      return "its text cannot be read: " + llvm::toString(parsed.takeError());
    if (textOf(**parsed) != printed)
      return "its text is another one after reading it";
    for (auto [state, name] : {std::pair(&before, "source"), std::pair(&after, "result")})
      if (std::string finding = save(*state, path(name)); !finding.empty())
        return finding;
    auto again = importModel(path("result"));
    if (!again)
      return "its file cannot be read: " + llvm::toString(again.takeError());
    if (textOf(*again->model) != printed)
      return "its text is another one after writing a file and reading it";
    return checkLaws(path("result"), path("source"));
  }

  std::string twice(Imported &, Imported &after, const Pipeline &pipeline, PayloadStore &store) {
    Loaded other = load(text, store);
    if (!other)
      return llvm::toString(other.takeError());
    PipelineOptions verified = written();
    verified.verifyEach = true; // as the first time
    bool shaped = false;
    verified.onRewrite = [&](const RewriteEvent &event) {
      shaped |= llvm::any_of(pipeline.entries, [&](const Pipeline::Entry &entry) {
        return entry.pass->name == event.pass && entry.pass->phase == Phase::Backend;
      });
    };
    if (llvm::Error error = runPipeline(*other->model, pipeline, store, verified))
      return llvm::toString(std::move(error));
    if (std::string finding = save(*other, path("other")); !finding.empty())
      return finding;
    if (bytesOf(path("other")) != bytesOf(path("result")))
      return "the same passes give another file the second time";
    // What turns pictures counts on what cancels transposes; without it there are more of them each time.
    auto has = [&](llvm::StringRef pass) {
      return llvm::any_of(pipeline.entries, [&](const Pipeline::Entry &entry) { return entry.pass->name == pass; });
    };
    if (has("convert-to-channels-last") && !has("merge-transposes"))
      return "";
    if (shaped)
      return ""; // back ends get their shapes last, and what was made for them could be fused
    uint32_t made = after.model->rewrites;
    std::string last;
    PipelineOptions options = written();
    options.onRewrite = [&](const RewriteEvent &event) { last = event.text(); };
    if (llvm::Error error = runPipeline(*after.model, pipeline, store, options))
      return llvm::toString(std::move(error));
    return after.model->rewrites == made ? "" : "there is more to do the second time: " + last;
  }

  /// Some of the rewrites, a file, the others; in the middle, and at a place that the seed chooses.
  std::string divided(Imported &, Imported &after, const Pipeline &pipeline, PayloadStore &store) {
    const uint32_t rewrites = after.model->rewrites;
    if (!rewrites)
      return "";
    std::string finding = divided(rewrites / 2, pipeline, store);
    uint32_t chosen = (seed * 2654435761u) % rewrites;
    return finding.empty() && chosen != rewrites / 2 ? divided(chosen, pipeline, store) : finding;
  }

  std::string divided(uint32_t first, const Pipeline &pipeline, PayloadStore &store) {
    Loaded part = load(text, store);
    if (!part)
      return llvm::toString(part.takeError());
    PipelineOptions options = written();
    options.fuel = first;
    if (llvm::Error error = runPipeline(*part->model, pipeline, store, options))
      return llvm::toString(std::move(error));
    if (std::string finding = save(*part, path("part")); !finding.empty())
      return finding;
    auto rest = importModel(path("part"));
    if (!rest)
      return "the file in the middle cannot be read: " + llvm::toString(rest.takeError());
    if (llvm::Error error = runPipeline(*rest->model, pipeline, store))
      return "the rest of the passes fail: " + llvm::toString(std::move(error));
    if (std::string finding = save(*rest, path("divided")); !finding.empty())
      return finding;
    std::string finding = checkLaws(path("divided"), path("source"));
    return finding.empty() ? "" : "divided by a file after " + std::to_string(first) + " rewrites: " + finding;
  }
};

struct NamedScheme {
  std::string name;
  quantize::Scheme scheme;
};

NamedScheme randomScheme(uint64_t seed) {
  using Mode = quantize::Scheme::Mode;
  quantize::Scheme scheme;
  switch (seed % 7) {
  case 0:
    return {"int8", scheme};
  case 1:
    scheme.inputs = scheme.outputs = {TensorType::INT8};
    scheme.common.perChannel = false;
    return {"int8 with ends, per tensor", scheme};
  case 2:
    scheme.common.activations = TensorType::INT16;
    scheme.common.bias = TensorType::INT64;
    return {"int16x8", scheme};
  case 3:
    scheme.common.mode = Mode::Weights;
    return {"dynamic", scheme};
  case 4:
    scheme.common.mode = Mode::WidenedWeights;
    scheme.common.weights = TensorType::INT4;
    return {"weights of 4 bits", scheme};
  case 5:
    scheme.common.mode = Mode::Float16;
    return {"float16", scheme};
  default:
    scheme.common.mode = seed / 7 % 2 ? Mode::Fake : Mode::Unsigned;
    scheme.dialect = quantize::Dialect::One;
    return {seed / 7 % 2 ? "fake" : "unsigned", scheme};
  }
}

} // namespace

bool fuzz::draws(uint64_t seed, uint32_t step, const Pass &pass, uint32_t every) {
  return llvm::xxh3_64bits((pass.name + " " + llvm::Twine(step) + " " + llvm::Twine(seed)).str()) % every == 0;
}

std::string fuzz::wordsOf(const Pipeline &passes) {
  std::string names;
  for (const Pipeline::Entry &entry : passes.entries)
    names += (names.empty() ? "" : ",") + entry.pass->name.str();
  return "--passes=" + names;
}

std::string fuzz::checkLaws(llvm::StringRef path, llvm::StringRef source) {
  auto file = origin::openOriginFile(path, "", true);
  auto from = origin::ModelFile::open(source);
  if (!file || !from)
    return "a file that was written cannot be read: " +
           (file ? llvm::toString(from.takeError()) : llvm::toString(file.takeError()));
  if (!file->map)
    return "a file that was written has no origin map";
  std::vector<std::string> skipped;
  auto broken = origin::check(*file->map, file->model->view(), &(*from)->view(), skipped);
  return broken.empty() ? "" : "law " + std::to_string(broken[0].law) + ": " + broken[0].text;
}

FuzzOutcome fuzz::checkGraph(llvm::StringRef text, uint64_t seed, llvm::StringRef directory, const FuzzNative *native) {
  // Which scheme a seed asks for does not depend on how many passes there are.
  const NamedScheme named = randomScheme(std::mt19937_64(seed)());
  GraphCheck check(text, static_cast<uint32_t>(seed), directory, native);
  std::string finding = check.run(Pipeline::o1());
  if (finding.empty()) {
    Pipeline some;
    for (const Pass &pass : allPasses())
      if (!pass.changesResults && !draws(seed, 0, pass, 4))
        some.add(pass);
    finding = check.run(some);
    if (!finding.empty())
      finding += " (with " + wordsOf(some) + ")";
  }
  if (finding.empty()) {
    finding = check.quantized(named.scheme);
    if (!finding.empty())
      finding += " (quantised: " + named.name + ")";
  }
  check.outcome.finding = finding.empty() ? checkSteps(text, seed, directory) : finding;
  return check.outcome;
}

FuzzOutcome fuzz::checkOperator(llvm::StringRef text, uint64_t seed, const FuzzNative *native) {
  PayloadStore store;
  auto model = parseText(text, "", store);
  if (!model) {
    llvm::consumeError(model.takeError());
    return {};
  }
  inferShapes(**model);
  FuzzOutcome outcome;
  bool isOdd = false;
  Run run = runOn(eval::Engine::Reference, **model, static_cast<uint32_t>(seed));
  outcome.finding = compareEngines(**model, run, static_cast<uint32_t>(seed), outcome.ran, isOdd, true);
  if (!outcome.finding.empty() || run.limited)
    return outcome;
  auto violations = report::checkTarget(**model, report::opSupportLimits());
  if (outcome.ran && !violations.empty())
    outcome.finding = "circle-check says that it does not run, and it does: " + violations[0].operand + " " +
                      violations[0].rule + " " + violations[0].expected + " not " + violations[0].actual;
  if (!run.compiled && violations.empty())
    outcome.finding = "circle-check says that it runs, and it does not compile: " + run.refused;
  if (outcome.finding.empty() && native)
    outcome.finding = native->compare(**model, run, text, static_cast<uint32_t>(seed), outcome);
  return outcome;
}
