#include "commands/QuantizeModel.h"

#include "quantize/Blocks.h"
#include "quantize/Corrections.h"
#include "quantize/OnnxFake.h"
#include "quantize/Storages.h"

#include "llvm/ADT/DenseMap.h"

namespace origo::commands {

using namespace quantize;

Scheme schemeOf(const TfliteScheme &asked) {
  using Name = TfliteScheme::Name;
  Scheme scheme;
  scheme.common.mode = asked.name == Name::Dynamic   ? Scheme::Mode::Weights
                       : asked.name == Name::Weights ? Scheme::Mode::WidenedWeights
                       : asked.name == Name::Float16 ? Scheme::Mode::Float16
                                                     : Scheme::Mode::Full;
  bool alone = scheme.common.mode == Scheme::Mode::Weights || scheme.common.mode == Scheme::Mode::WidenedWeights;
  scheme.common.leastElements = alone ? asked.leastElements : 0;
  scheme.common.weights = asked.fourBits ? TensorType::INT4 : TensorType::INT8;
  if (asked.name == Name::Int16x8) {
    scheme.common.activations = TensorType::INT16;
    scheme.common.bias = TensorType::INT64;
  }
  scheme.common.clip = asked.clipsWeights ? WeightClip::LeastSquares : WeightClip::None;
  scheme.common.perChannel = asked.perChannel;
  scheme.common.perChannelDense = asked.perChannelDense;
  scheme.common.blockSize = asked.blockSize;
  return scheme;
}

void keepFloat(const Parts::Operators &operators, Scheme &scheme) {
  for (const Operator *op : operators) {
    if (!op->result())
      continue;
    Scheme::Choice choice = scheme.common;
    choice.quantize = false;
    choice.whyFloat = Scheme::Choice().whyFloat; // a recipe has reasons of its own
    scheme.choose(*op, choice);
  }
}

llvm::Expected<llvm::SmallVector<TensorType, 2>> typesOf(const std::vector<std::string> &names, TensorType otherwise) {
  llvm::SmallVector<TensorType, 2> types;
  for (const std::string &name : names) {
    std::string lower = llvm::StringRef(name).lower();
    if (lower == "uint8")
      types.push_back(TensorType::UINT8);
    else if (lower == "int8")
      types.push_back(TensorType::INT8);
    else if (lower == "int16")
      types.push_back(TensorType::INT16);
    else if (lower == "float32" || lower == "int32" || lower == "int64" || lower == "bool")
      types.push_back(TensorType::FLOAT32); // what is no float stays what it is
    else
      return makeError("\"" + printable(name) +
                       "\" is no type of inputs and outputs; give uint8, int8, int16 or "
                       "float32");
  }
  if (types.empty())
    types.push_back(otherwise);
  return types;
}

static llvm::Error runPasses(Model &model, PayloadStore &store, bool verifyEach, llvm::ArrayRef<llvm::StringRef> passes,
                             decltype(Pipeline::plan) plan = {}) {
  Pipeline pipeline;
  for (llvm::StringRef pass : passes)
    pipeline.add(*findPass(pass));
  pipeline.plan = std::move(plan);
  PipelineOptions options;
  options.verifyEach = verifyEach;
  return runPipeline(model, pipeline, store, options);
}

llvm::Error equalizeChannels(Model &model, PayloadStore &store, bool verifyEach) {
  return runPasses(model, store, verifyEach, {"equalize-channels"});
}

llvm::Expected<Statistics> calibrate(Model &model, OpenRecords open, bool histograms) {
  CalibrateOptions options;
  options.histograms = histograms;
  options.compile.engine = eval::Engine::Fast;
  return quantize::calibrate(model, open, options);
}

static llvm::Expected<Moments> momentsOf(Model &model, OpenRecords open) {
  CalibrateOptions options;
  options.compile.engine = eval::Engine::Fast;
  return collectMoments(model, open, options, false);
}

llvm::Error smoothChannels(Model &model, OpenRecords open, double migration, PayloadStore &store, bool verifyEach) {
  auto moments = momentsOf(model, open);
  if (!moments)
    return moments.takeError();
  return runPasses(model, store, verifyEach, {"smooth-channels"}, [&](Model &planned) -> llvm::Expected<StoragePlan> {
    return reachesOf(planned, *moments, migration);
  });
}

llvm::Error absorbBiases(Model &model, OpenRecords open, PayloadStore &store, bool verifyEach) {
  auto moments = momentsOf(model, open);
  if (!moments)
    return moments.takeError();
  return runPasses(model, store, verifyEach, {"absorb-bias"},
                   [&](Model &planned) -> llvm::Expected<StoragePlan> { return shiftsOf(planned, *moments); });
}

llvm::Error readOnnxFakes(Model &model, Scheme &scheme, PayloadStore &store, bool verifyEach) {
  // Both ends of a pair may have constants of their own.
  if (llvm::Error error = runPasses(model, store, verifyEach, {"merge-duplicate-constants"}))
    return error;
  auto fakes = quantize::readOnnxFakes(model, scheme);
  if (!fakes)
    return fakes.takeError();
  if (llvm::Error error = runPasses(model, store, verifyEach, {"resolve-onnx-quantization"}))
    return error;
  keepScales(model, *fakes);
  return llvm::Error::success();
}

llvm::Expected<size_t> readCarried(Model &model, Scheme &scheme, bool alone, PayloadStore &store, bool verifyEach) {
  if (llvm::Error error = runPasses(model, store, verifyEach, {"quantize"}, planFakeQuants))
    return error;
  // What is rounded behind a clamp is rounded behind whom it is fused into.
  if (llvm::Error error = runPasses(model, store, verifyEach, {"fuse-activation"}))
    return error;
  auto scales = std::make_shared<CarriedScales>();
  scales->alone = alone;
  std::vector<CarriedConstant> constants = quantize::readCarried(model, *scales);
  if (llvm::Error error = runPasses(model, store, verifyEach, {"fold-constants", "unpack-constants"}))
    return error;
  keepCarried(constants, *scales);
  scheme.carried = scales;
  return scales->storages.size();
}

llvm::Error unpackConstants(Model &model, PayloadStore &store, bool verifyEach) {
  return runPasses(model, store, verifyEach, {"unpack-constants"});
}

llvm::Error learnFrom(Model &model, OpenRecords open, Scheme &scheme,
                      const std::function<void(uint64_t done, uint64_t all)> &progress) {
  if (scheme.adapts()) {
    auto adapted = adaptRoundings(model, open, scheme, progress);
    if (!adapted)
      return adapted.takeError();
    scheme.adapted = std::make_shared<const Adaptations>(std::move(*adapted));
  }
  CalibrateOptions options;
  options.compile.engine = eval::Engine::Fast;
  auto moments = collectMoments(model, open, options, scheme.needsProducts(),
                                [&](const Operator &op) { return !scheme.adaptedOf(op); });
  if (!moments)
    return moments.takeError();
  scheme.moments = std::make_shared<const Moments>(std::move(*moments));
  return llvm::Error::success();
}

bool carriesRanges(const Model &model) {
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (value->producer() && isReal(value) && recordedRange(*value))
        return true;
  return false;
}

void leaveCarried(const Model &model, Statistics &statistics) {
  llvm::erase_if(statistics.tensors, [&](const Statistics::Tensor &tensor) {
    return recordedRange(*model.subgraphs[tensor.subgraph]->values[tensor.index]);
  });
}

bool lacksRanges(const Model &model, const Scheme &scheme) {
  bool any = !scheme.needsRanges(), computes = false;
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values) {
      computes |= value->producer() && value->type == TensorType::FLOAT32 && value->elementCount() != 0;
      any |= value->producer() && value->quantization && !value->quantization->min.empty();
    }
  return computes && !any;
}

llvm::Error changeEnds(Model &model, const Ends &ends, PayloadStore &store, PipelineOptions options,
                       std::vector<std::string> &told) {
  Pipeline pipeline;
  pipeline.plan = planEnds(ends, &told);
  for (const char *pass :
       {"quantize", "remove-lossless-quantize"}) // the first one has nothing to do but to be planned for
    pipeline.add(*findPass(pass));
  return runPipeline(model, pipeline, store, options);
}

llvm::Expected<std::vector<Unquantized>> quantizeModel(Model &model, const Scheme &scheme, PayloadStore &store,
                                                       PipelineOptions options) {
  std::vector<Unquantized> unquantized;
  auto nameOf = [](const Operator &op) { return op.result() ? op.result()->name.str() : std::string(); };
  llvm::DenseMap<const Operator *, std::string> planned; // others may be in their place later, of other names
  Pipeline pipeline =
      Pipeline::quantization([&, plan = planBy(scheme, &unquantized)](Model &model) -> llvm::Expected<StoragePlan> {
        auto made = plan(model);
        auto stores = [](const Storage *storage) { return storage != nullptr; };
        if (made)
          for (const auto &[op, decision] : made->operators)
            if (llvm::any_of(decision.operands, stores) || llvm::any_of(decision.results, stores))
              planned[op] = nameOf(*op);
        return made;
      });
  // What the plan decides and the rule declines stays float as well.
  std::map<const Operator *, Unquantized> declined;
  options.onAttempt = [&](const Operator &op, IdSet, const Pass &, const Rule &rule, llvm::StringRef reason) {
    if (rule.name != "store")
      return;
    if (reason.empty()) {
      declined.erase(&op);
      planned.erase(&op);
    } else if (auto found = planned.find(&op); !op.erased() && found != planned.end() && found->second == nameOf(op))
      declined[&op] = {&op, op.opName(), found->second, reason.str()};
  };
  if (llvm::Error error = runPipeline(model, pipeline, store, options))
    return error;
  storeBlockScales(model);
  for (const auto &[op, one] : declined)
    unquantized.push_back(one);
  return unquantized;
}

llvm::Error refuseUnquantized(llvm::ArrayRef<Unquantized> list) {
  if (list.empty())
    return llvm::Error::success();
  const Unquantized &one = list.front();
  return makeError(llvm::Twine(list.size()) + " operators would stay float; the first is " + one.kind + " \"" +
                   printable(one.name) + "\": " + one.why);
}

std::vector<std::string> unquantizedWords(llvm::ArrayRef<Unquantized> list, llvm::StringRef stays) {
  std::map<std::pair<std::string, std::string>, std::pair<unsigned, std::string>> reasons;
  for (const Unquantized &one : list) {
    auto &[count, first] = reasons[{one.kind, one.why}];
    if (count++ == 0)
      first = one.name;
  }
  std::vector<std::string> lines;
  for (const auto &[key, value] : reasons)
    lines.push_back(std::to_string(value.first) + " " + key.first + (value.first == 1 ? " stays " : " stay ") +
                    stays.str() + ": " + key.second + "; " + (value.first == 1 ? "" : "the first ") + "is \"" +
                    printable(value.second) + "\"");
  return lines;
}

std::vector<std::string> ownScaleWords(const Model &model) {
  auto stepsOf = [](llvm::ArrayRef<const Value *> values) -> const Quantization * {
    for (const Value *value : values)
      if (value && value->quantization && value->quantization->quantized())
        return value->quantization;
    return nullptr;
  };
  std::map<std::string, std::pair<unsigned, std::string>> kinds;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      if (scalingOf(op.code, Dialect::Tflite) != Scaling::AsInput || !op.result())
        continue;
      llvm::SmallVector<const Value *, 4> operands;
      for (const Use &use : op.operands())
        operands.push_back(use.get());
      const Quantization *from = stepsOf(operands), *to = stepsOf(op.result());
      if (!from || !to || sameQuantization(from, to))
        continue;
      auto &[count, first] = kinds[op.opName()];
      if (count++ == 0)
        first = op.result()->name.str();
    }
  std::vector<std::string> lines;
  for (const auto &[kind, value] : kinds)
    lines.push_back(
        std::to_string(value.first) + " " + kind +
        (value.first == 1 ? " has a result of another scale than its operand"
                          : " have results of other scales than their operands") +
        ", as ONE gives it; " + (value.first == 1 ? "" : "the first ") + "is \"" + printable(value.second) +
        "\"; TensorFlow Lite's kernels do not rescale there, so only a back end that does computes it right");
  return lines;
}

} // namespace origo::commands
