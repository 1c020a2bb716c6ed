#include "tools/FuzzChecks.h"

#include "eval/Baseline.h"
#include "eval/Distance.h"
#include "eval/RandomInput.h"
#include "eval/Rounding.h"
#include "export/Export.h"
#include "import/Import.h"
#include "ir/Error.h"
#include "ir/Verifier.h"
#include "ir/rewrite/Graph.h"
#include "ir/shapes/Inference.h"
#include "ir/text/Text.h"
#include "origin/check/Check.h"
#include "origin/codec/OriginFile.h"
#include "passes/Pipeline.h"
#include "quantize/Calibrate.h"
#include "quantize/Plan.h"
#include "quantize/Summary.h"
#include "report/target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstring>

using namespace origo;
using namespace origo::tools;

namespace {

using Loaded = llvm::Expected<Imported>;

Loaded load(llvm::StringRef text, PayloadStore &store) {
  auto model = parseText(text, "", store);
  if (!model)
    return model.takeError();
  Imported imported;
  imported.model = std::move(*model);
  imported.model->becomeSource();
  auto listing = listingOf(*imported.model, imported.model->format);
  if (!listing)
    return listing.takeError();
  imported.lineage.source = *listing;
  return imported;
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
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// How far results may be from each other, in the measure of eval/Distance.h.
double mostOf(TensorType type) {
  return type == TensorType::FLOAT32 ? 1e-4 : type == TensorType::INT8 || type == TensorType::UINT8 ? 1 : 0;
}

struct Run {
  std::string refused; ///< empty: it ran
  bool limited = false;
  bool isOdd = false; ///< NaN, infinity or a denormal number was computed on the way, or divided by zero
  bool compiled = false;
  std::vector<eval::NamedTensor> outputs;
};

void refuse(Run &run, llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &e) {
    run.refused = e.message();
    if (e.isA<eval::EvalError>()) {
      auto code = static_cast<const eval::EvalError &>(e).code;
      run.limited |= code == eval::ErrorCode::Timeout || code == eval::ErrorCode::MemoryLimit;
    }
  });
}

/// A function that comes to its bound in one engine may be a little before it in the other.
void leaveBound(const Operator &op, eval::Tensor &tensor, double part, uint64_t seed) {
  bool isBounded = rewrite::activationOf(op) == rewrite::Activation::TANH || op.code == BuiltinOperator::TANH ||
                   op.code == BuiltinOperator::LOGISTIC || op.code == BuiltinOperator::ELU;
  if (isBounded && tensor.type == TensorType::FLOAT32)
    for (float &number : tensor.as<float>())
      if (std::fabs(number) == 1 && ((seed = seed * 6364136223846793005 + 1442695040888963407) >> 63))
        number *= static_cast<float>(1 - part);
}

/// `noise`: puts every float off by a few rounding errors, up or down as this says; 0: none.
Run runOn(eval::Engine engine, Model &model, uint32_t seed, uint64_t noise = 0) {
  constexpr double errors = 32; // some functions are a few units off by themselves
  Run run;
  eval::CompileOptions options;
  options.engine = engine;
  options.memoryLimit = 64 << 20;
  options.timeout = std::chrono::seconds(5);
  auto session = eval::compile(model, options);
  if (!session) {
    refuse(run, session.takeError());
    return run;
  }
  run.compiled = true;
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (value->isConstant() && value->type == TensorType::FLOAT32 && value->payload().hasBytes()) {
        llvm::ArrayRef<uint8_t> bytes = value->payload().bytes();
        for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
          float number;
          std::memcpy(&number, bytes.data() + at, sizeof(float));
          run.isOdd |= !std::isfinite(number); // a clamp may hide at once what comes of it
        }
      }
  std::vector<eval::OwnedTensor> inputs;
  auto ports = session->inputs();
  for (const eval::Port &port : *ports) {
    auto input = eval::randomInput(port, static_cast<unsigned>(inputs.size()), seed);
    if (!input) {
      refuse(run, input.takeError());
      return run;
    }
    if (noise)
      eval::jiggle(input->type, input->bytes, errors * eval::unitOf(input->type), noise + inputs.size());
    inputs.push_back(std::move(*input));
  }
  std::vector<eval::TensorRef> refs(inputs.begin(), inputs.end());
  eval::RunOptions look;
  look.observer = [&](const Operator &op, const Value &value, eval::Tensor &tensor) {
    if (noise) {
      double part = errors * eval::roundingOf(op, value.type);
      eval::jiggle(value.type, tensor.storage, part, noise + value.index);
      leaveBound(op, tensor, part, noise + value.index);
    }
    bool isDivisor = false; // the sign of a zero is not promised, and an infinite quotient is clamped unseen
    value.forEachUse([&](const Use &use) {
      isDivisor |= use.user()->code == BuiltinOperator::DIV && use.operandIndex() == 1;
    });
    if (tensor.type == TensorType::FLOAT32)
      for (float number : tensor.as<float>())
        run.isOdd |= number == 0 ? isDivisor : !std::isnormal(number);
  };
  auto outputs = session->run(refs, look);
  if (!outputs)
    refuse(run, outputs.takeError());
  else
    run.outputs = std::move(*outputs);
  return run;
}

/// How far the floats of each output move where every float before them is off by a few rounding errors: what another
/// order of operations may change, be it much (a difference of two that are nearly equal) or a whole step (a float that
/// lies between two integers).
std::vector<std::vector<double>> movedByRounding(Model &model, uint32_t seed, llvm::ArrayRef<eval::NamedTensor> outputs) {
  constexpr unsigned trials = 24;
  std::vector<std::vector<double>> moved;
  for (const eval::NamedTensor &output : outputs)
    moved.emplace_back(eval::floatsIn(output.tensor).size(), 0);
  for (unsigned trial = 1; trial <= trials; ++trial) {
    Run run = runOn(eval::Engine::Reference, model, seed, trial * 1000003ull);
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      auto is = eval::floatsIn(run.outputs[i].tensor), was = eval::floatsIn(outputs[i].tensor);
      for (size_t k = 0; k < moved[i].size() && k < is.size(); ++k)
        moved[i][k] = std::max<double>(moved[i][k], std::fabs(static_cast<double>(is[k]) - was[k]));
    }
  }
  return moved;
}

std::string compareEngines(Model &model, uint32_t seed, bool &ran, bool &isOdd, bool operatorAlone) {
  Run reference = runOn(eval::Engine::Reference, model, seed), fast = runOn(eval::Engine::Fast, model, seed);
  if (reference.limited || fast.limited)
    return "";
  if (reference.refused.empty() != fast.refused.empty())
    return "one engine refuses: reference \"" + reference.refused + "\", fast \"" + fast.refused + '"';
  ran = reference.refused.empty();
  isOdd |= reference.isOdd;
  if (reference.isOdd && !operatorAlone)
    return ""; // the fast engine makes something else of NaN and of denormal numbers, and goes on from there
  std::optional<std::vector<std::vector<double>>> moved;
  for (auto [i, x] : llvm::enumerate(reference.outputs)) {
    const eval::NamedTensor &y = fast.outputs[i];
    // In a graph, one differing bit decides on integers behind it.
    if (!operatorAlone && x.tensor.type != TensorType::FLOAT32)
      continue;
    double off = eval::distance(x.tensor, y.tensor);
    if (off <= mostOf(x.tensor.type))
      continue;
    auto different = [&, &x = x] { return "the engines differ by " + std::to_string(off) + " in " + x.name; };
    if (x.tensor.type != TensorType::FLOAT32 || x.tensor.shape != y.tensor.shape)
      return different();
    if (!moved)
      moved = movedByRounding(model, seed, reference.outputs);
    auto a = eval::floatsIn(x.tensor), b = eval::floatsIn(y.tensor);
    auto [low, high] = std::minmax_element(a.begin(), a.end());
    double range = mostOf(x.tensor.type) * (static_cast<double>(*high) - *low);
    for (size_t k = 0; k < a.size(); ++k)
      if (a[k] != b[k] && !(std::isnan(a[k]) && std::isnan(b[k])) &&
          !(std::fabs(static_cast<double>(a[k]) - b[k]) <= range + eval::margin * (*moved)[i][k]))
        return different();
  }
  return "";
}

std::string checkLaws(llvm::StringRef path, llvm::StringRef source) {
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

/// One pipeline on one text.
class GraphCheck {
public:
  GraphCheck(llvm::StringRef text, uint32_t seed, llvm::StringRef directory)
      : text(text), seed(seed), directory(directory.str()) {}
  bool ran = false;

  std::string run(const Pipeline &pipeline) {
    PayloadStore store(directory);
    Loaded before = load(text, store), after = load(text, store);
    if (!before || !after)
      return "the text is refused: " + llvm::toString(before ? after.takeError() : before.takeError());
    for (const std::string &violation : verify(*before->model))
      return "the verifier refuses the source: " + violation;
    std::string finding;
    RunOptions options;
    options.verifyEach = true;
    options.onRewrite = [&](const RewriteEvent &event) {
      const Pass *pass = findPass(event.pass); // none: of the engine itself
      shaped |= pass && (pass->phase == Phase::Backend || pass->name == "convert-to-channels-last");
    };
    shaped = false;
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
        auto open = [](llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) { return quantize::seededRecords(inputs, 2); };
        auto statistics = quantize::calibrate(model, open, {});
        if (!statistics) { // what does not run has no ranges
          llvm::consumeError(statistics.takeError());
          return "";
        }
        std::vector<std::string> silent;
        if (llvm::Error error = quantize::setRanges(model, *statistics, {{quantize::Summary::Mode::Percentile, 0, 100}}, silent)) {
          llvm::consumeError(std::move(error));
          return "";
        }
      }
      RunOptions options;
      options.verifyEach = true;
      if (llvm::Error error = runPipeline(model, Pipeline::quantization(quantize::planBy(scheme)), store, options))
        return "the pipeline fails: " + llvm::toString(std::move(error));
      Run was = runOn(eval::Engine::Reference, *before->model, seed), is = runOn(eval::Engine::Reference, model, seed);
      if (was.refused.empty() && !is.refused.empty() && !is.limited)
        return "it does not run any more: " + is.refused;
      std::string result = textOf(model);
      if (again)
        return result == first ? "" : "is another model the second time";
      first = result;
      if (std::string finding = thereAndBack(*before, *after, {}, store); !finding.empty())
        return finding;
    }
    return "";
  }

private:
  llvm::StringRef text;
  uint32_t seed;
  std::string directory;
  bool isOdd = false;  ///< NaN or infinity was computed on the way
  bool shaped = false; ///< for a back end

  std::string numbers(Imported &before, Imported &after, const Pipeline &, PayloadStore &) {
    for (Imported *state : {&before, &after})
      if (std::string finding = compareEngines(*state->model, seed, ran, isOdd, false); !finding.empty())
        return finding + (state == &before ? " before" : " after") + " the passes";
    // What a clamp makes of NaN is not the same in all of its forms, and what overflows does so in one order only.
    if (!ran || isOdd)
      return "";
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
    RunOptions verified;
    verified.verifyEach = true; // as the first time
    if (llvm::Error error = runPipeline(*other->model, pipeline, store, verified))
      return llvm::toString(std::move(error));
    if (std::string finding = save(*other, path("other")); !finding.empty())
      return finding;
    if (bytesOf(path("other")) != bytesOf(path("result")))
      return "the same passes give another file the second time";
    // What one back end wants is news to the phases before; the plan of layouts is made once a run.
    if (shaped)
      return "";
    uint32_t made = after.model->rewrites;
    std::string last;
    RunOptions options;
    options.onRewrite = [&](const RewriteEvent &event) { last = event.text(); };
    if (llvm::Error error = runPipeline(*after.model, pipeline, store, options))
      return llvm::toString(std::move(error));
    return after.model->rewrites == made ? "" : "there is more to do the second time: " + last;
  }

  /// Some of the rewrites, a file, the others.
  std::string divided(Imported &, Imported &after, const Pipeline &pipeline, PayloadStore &store) {
    if (!after.model->rewrites)
      return "";
    Loaded part = load(text, store);
    if (!part)
      return llvm::toString(part.takeError());
    RunOptions options;
    options.fuel = after.model->rewrites / 2;
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
    return finding.empty() ? "" : "divided by a file: " + finding;
  }
};

/// Results without a shape get what the shape rules say.
void inferShapes(Model &model) {
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      auto results = inferResults(op);
      if (!results) {
        llvm::consumeError(results.takeError());
        continue;
      }
      for (auto [type, value] : llvm::zip(*results, op.results()))
        if (value && type.rankKnown && llvm::none_of(type.shape, [](int32_t dim) { return dim < 0; })) {
          value->shape.assign(type.shape.begin(), type.shape.end());
          value->hasRank = true;
        }
    }
}

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

FuzzOutcome tools::checkGraph(llvm::StringRef text, uint64_t seed, llvm::StringRef directory) {
  GraphCheck check(text, static_cast<uint32_t>(seed), directory);
  std::string finding = check.run(Pipeline::o1());
  if (finding.empty()) {
    Pipeline some;
    for (const Pass &pass : allPasses())
      if (((seed = seed * 6364136223846793005 + 1442695040888963407) >> 62) != 0 && !pass.changesResults)
        some.add(pass);
    finding = check.run(some);
    if (!finding.empty()) {
      std::string names;
      for (const Pipeline::Entry &entry : some.entries)
        names += (names.empty() ? "" : ",") + entry.pass->name.str();
      finding += " (with --passes=" + names + ")";
    }
  }
  if (finding.empty()) {
    NamedScheme named = randomScheme(seed >> 20);
    finding = check.quantized(named.scheme);
    if (!finding.empty())
      finding += " (quantised: " + named.name + ")";
  }
  return {finding, check.ran};
}

FuzzOutcome tools::checkOperator(llvm::StringRef text, uint64_t seed) {
  PayloadStore store;
  auto model = parseText(text, "", store);
  if (!model) {
    llvm::consumeError(model.takeError());
    return {};
  }
  inferShapes(**model);
  FuzzOutcome outcome;
  bool isOdd = false;
  outcome.finding = compareEngines(**model, static_cast<uint32_t>(seed), outcome.ran, isOdd, true);
  if (!outcome.finding.empty())
    return outcome;
  auto violations = report::checkTarget(**model, report::opSupportLimits());
  Run run = runOn(eval::Engine::Reference, **model, static_cast<uint32_t>(seed));
  if (run.limited)
    return outcome;
  if (outcome.ran && !violations.empty())
    outcome.finding = "circle-check says that it does not run, and it does: " + violations[0].operand + " " +
                      violations[0].rule + " " + violations[0].expected + " not " + violations[0].actual;
  if (!run.compiled && violations.empty())
    outcome.finding = "circle-check says that it runs, and it does not compile: " + run.refused;
  return outcome;
}
