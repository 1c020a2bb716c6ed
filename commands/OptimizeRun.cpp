#include "commands/Files.h"
#include "commands/Mending.h"
#include "commands/Onnx.h"
#include "commands/Optimize.h"
#include "commands/Process.h"
#include "commands/Prove.h"
#include "commands/Targets.h"
#include "ir/OpenFile.h"
#include "ir/edit/Editor.h"
#include "origin/Fingerprint.h"
#include "origin/codec/Json.h"
#include "passes/VerifyAlgebra.h"
#include "quantize/Records.h"
#include "report/join/Compare.h"
#include "report/target/Prediction.h"

#include "llvm/Support/Path.h"

#include <set>

namespace origo::commands {

namespace {

using Request = OptimizeRequest;

/// What the target does not take.
std::string refusal(const Operator &op, const report::Target &target) {
  std::vector<report::Violation> violations = report::checkOperator(op, target);
  if (violations.empty())
    return {};
  const report::Violation &first = violations.front();
  return "the target does not take " + op.opName() + (first.operand.empty() ? "" : ", " + first.operand) + ": " +
         first.rule + " is " + first.actual;
}

/// Inputs whose first dimension is known at run time only get 1 there.
llvm::Error fixBatch(Model &model) {
  std::vector<llvm::SmallVector<int32_t, 4>> shapes;
  for (const Value *value : model.subgraphs.front()->inputs) {
    llvm::ArrayRef<int32_t> stated = value->shapeSignature().empty() ? value->shape : value->shapeSignature();
    auto &shape = shapes.emplace_back(stated.begin(), stated.end());
    if (!shape.empty() && shape.front() < 0)
      shape.front() = 1;
  }
  return Editor(model).resizeInputs(shapes);
}

llvm::Error changeOutputs(Model &model, const std::vector<std::string> &names, const std::string &option) {
  llvm::SmallVector<Value *> outputs;
  for (const std::string &name : names) {
    Value *found = nullptr;
    for (Value *value : model.subgraphs.front()->values) {
      if (value->name != name)
        continue;
      if (found)
        return makeError(option + ": several tensors have the name \"" + printable(name) + '"');
      found = value;
    }
    if (!found || found->isConstant() || (!found->producer() && !found->isGraphInput))
      return makeError(option + ": no operator of the first subgraph computes a tensor \"" + printable(name) +
                       "\"; circledump shows the names");
    outputs.push_back(found);
  }
  if (!outputs.empty())
    Editor(model).changeOutputs(outputs);
  return llvm::Error::success();
}

size_t dequantizers(const Model &model) {
  size_t count = 0;
  for (const auto &graph : model.subgraphs)
    count +=
        llvm::count_if(graph->operators, [](const Operator &op) { return op.code == BuiltinOperator::DEQUANTIZE; });
  return count;
}

/// The first records of what numbers are verified on.
llvm::Expected<std::vector<std::vector<eval::OwnedTensor>>> firstRecords(const std::string &path,
                                                                         llvm::ArrayRef<eval::Port> ports) {
  constexpr uint64_t mostRecords = 4;
  auto opened = quantize::openRecords(path, quantize::RecordFormat::ByName, ports);
  if (!opened)
    return opened.takeError();
  std::vector<std::vector<eval::OwnedTensor>> all;
  for (uint64_t i = 0; i < std::min((*opened)->count(), mostRecords); ++i) {
    auto record = (*opened)->read(i);
    if (!record)
      return record.takeError();
    all.push_back(std::move(*record));
  }
  return all;
}

/// Computed constants are spilled where there must be room anyway.
std::string spillFolder(const std::string &output) {
  llvm::StringRef folder = llvm::sys::path::parent_path(output);
  return folder.empty() ? "." : folder.str();
}

/// Models compiled for an accelerator hold its code: what is around it must stay as it was compiled, so no pass is run.
bool isCompiled(const Model &model) {
  static const llvm::StringRef customCodes[] = {"DISPATCH_OP", "edgetpu-custom-op", "ethos-u"};
  for (const MetadataEntry &entry : model.metadata)
    if (entry.name == "NPU_BYTE_CODE")
      return true;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      if (op.code == BuiltinOperator::CUSTOM && llvm::is_contained(customCodes, op.customCode()))
        return true;
  return false;
}

} // namespace

llvm::Expected<Job> Job::of(const Request &request, const Door &door, Load load) {
  Job job(request, door);
  auto pipeline = pipelineOf(request, door);
  if (!pipeline)
    return pipeline.takeError();
  job.pipeline = std::move(*pipeline);
  job.load = load ? std::move(load) : [&](const ImportOptions &options, PayloadStore &store) {
    return commands::load(request.input, options, store, door);
  };
  if (request.target.empty())
    return job;
  auto target = loadTarget(request.target);
  if (!target)
    return target.takeError();
  job.target = std::make_shared<report::Target>(std::move(*target));
  if (request.allowOneStep)
    addSigning(job.pipeline, job.target);
  return job;
}

Format Job::formatOf(const Model &model) const { return commands::formatOf(request.output, model.format); }

/// The input as it is.
llvm::Expected<Imported> Job::read(PayloadStore &store) const {
  ImportOptions options;
  options.origin = request.found == FoundMap::Continue ? OriginMode::Continue : OriginMode::Restart;
  if (!request.givenMap.empty()) {
    auto map = readFile(request.givenMap, origin::readJson);
    if (!map)
      return map.takeError();
    options.map = std::make_shared<const origin::OriginMap>(std::move(*map));
  }
  auto imported = load(options, store);
  if (imported && !request.linesFrom.empty())
    if (llvm::Error error = takeLines(*imported, request.linesFrom))
      return error;
  return imported;
}

/// What is changed before the first rewrite.
llvm::Error Job::change(Model &model) const {
  if (llvm::Error error = changeOutputs(model, request.changeOutputs, door.spell("change_outputs")))
    return inFile(request.input, std::move(error));
  if (request.isOn("dynamic_batch_to_single_batch"))
    if (llvm::Error error = fixBatch(model))
      return inFile(request.input, std::move(error));
  return llvm::Error::success();
}

llvm::Expected<Imported> Job::readChanged(PayloadStore &store) const {
  llvm::Expected<Imported> imported = read(store);
  if (imported)
    if (llvm::Error error = change(*imported->model))
      return error;
  return imported;
}

/// How the pipeline runs on a model. Who looks on is added to it.
PipelineOptions Job::options(const Model &model) const {
  PipelineOptions run;
  run.verifyEach = request.verifyEach;
  run.fuel = request.fuel;
  run.format = formatOf(model);
  if (target)
    run.refuses = [target = target](const Operator &op) { return refusal(op, *target); };
  if (target && !target->refusalCost.empty())
    run.price = [target = target](const Operator &op) {
      auto found = target->refusalCost.find(op.opName());
      return found == target->refusalCost.end() ? 1 : found->second;
    };
  return run;
}

std::string Job::takenText(const Model &model) const {
  return target ? report::predictionText(report::predict(model, *target)) : "";
}

bool Job::passesThrough(const Model &model) const { return !pipeline.empty() && isCompiled(model); }

llvm::Error Job::rewrite(Model &model, PayloadStore &store, const PipelineOptions &options,
                         const Pipeline *instead) const {
  const Pipeline &asked = instead ? *instead : pipeline;
  if (llvm::Error error = runPipeline(model, passesThrough(model) ? Pipeline() : asked, store, options))
    return inFile(request.input, std::move(error));
  if (request.sparse.tensor.empty())
    return llvm::Error::success();
  llvm::Error error = sparsify(model, request.sparse, store);
  return error ? inFile(request.input, std::move(error)) : llvm::Error::success();
}

/// `notes`: takes what else is told.
llvm::Error Job::write(Imported &imported, const std::string &path, std::vector<std::string> *notes) const {
  ExportOptions to;
  to.format = formatOf(*imported.model);
  to.notes = notes;
  to.embed = request.embed();
  // A stream gets a side file only if it is told where.
  bool beside = path == request.output && !request.origins.noSideFile && request.found != FoundMap::Ignore;
  if (beside && (!isStream(path) || !request.sideFile.empty()))
    to.originJson = sideFile();
  return save(imported, path, to, door);
}

llvm::Expected<uint32_t> Job::make(const std::string &path, std::optional<uint32_t> most,
                                   std::function<void(const RewriteEvent &)> onRewrite, const Pipeline *instead) const {
  PayloadStore store;
  llvm::Expected<Imported> imported = readChanged(store);
  if (!imported)
    return imported.takeError();
  PipelineOptions run = options(*imported->model);
  if (most)
    run.fuel = std::min(*most, run.fuel.value_or(*most));
  run.onRewrite = std::move(onRewrite);
  if (llvm::Error error = rewrite(*imported->model, store, run, instead))
    return error;
  std::vector<std::string> notes; // told of the run as a whole
  if (llvm::Error error = write(*imported, path, &notes))
    return error;
  return imported->model->rewrites;
}

/// The input as text beside the output, headed by the command that shows again how a rewrite broke the model.
void Job::writeReproducer() const {
  PayloadStore store(spillFolder(request.output));
  llvm::Expected<Imported> imported = readChanged(store);
  if (!imported)
    return llvm::consumeError(imported.takeError());
  Request again;
  again.verifyEach = true;
  again.target = request.target;
  if (request.level && request.level->number == 2) { // which decides with the target, place by place
    again.level = request.level;
    again.allowOneStep = request.allowOneStep;
    again.allowHybridToFloat = request.allowHybridToFloat;
    again.passes = request.passes;
    again.skip = request.skip;
    again.flags = request.flags;
  } else {
    for (const Pipeline::Entry &entry : pipeline.entries)
      again.passes.push_back(entry.pass->name.str());
  }
  std::string path = request.output + ".reproducer.origo";
  if (llvm::Error error = save(*imported, path, {}, door))
    return llvm::consumeError(std::move(error));
  const Request fresh;
  door.note("reproduce with: circle2circle " + shellWords(wordsOf(optimizeCommand.options(), &again, &fresh)) + " " +
            shellWord(path) + " out.circle");
}

static std::vector<std::string> declaredTexts(const std::map<const Pass *, unsigned> &declared) {
  std::vector<std::string> texts;
  for (const auto &[pass, tensors] : declared)
    texts.push_back((llvm::Twine(tensors) + (tensors == 1 ? " tensor is another one" : " tensors are others") + " by " +
                     pass->name + ", which changes results by " + pass->bound)
                        .str());
  return texts;
}

llvm::Error Job::verify(Verdict &verdict, std::string &proof) const {
  if (!request.verifyNumerics && !request.verifyAlgebra)
    return llvm::Error::success();
  PayloadStore store;
  door.phase("executing");
  auto changed = readChanged(store);
  if (!changed)
    return changed.takeError();
  if (passesThrough(*changed->model))
    return llvm::Error::success();
  PipelineOptions run = options(*changed->model);
  auto readModel = [&]() -> llvm::Expected<std::unique_ptr<Model>> {
    llvm::Expected<Imported> imported = readChanged(store);
    if (!imported)
      return imported.takeError();
    return std::move(imported->model);
  };
  if (request.verifyAlgebra) {
    auto proved = proveRewrites(readModel, pipeline, store, run);
    if (!proved)
      return inFile(request.input, proved.takeError());
    if (proved->wrong) {
      verdict = Verdict::Refused;
      return inFile(request.input, makeError("is not equal in exact arithmetic after " + proved->wrong->text));
    }
    door.note("proved: " + proofText(proved->proof));
    proof = certificateText(proved->proof);
    for (const std::string &text : declaredTexts(proved->declared)) {
      door.note(text);
      proof += "; " + text;
    }
    for (const std::string &assumption : proved->proof.assumptions)
      door.note("proved: assuming that " + printable(assumption));
    if (!request.verifyNumerics)
      return llvm::Error::success();
  }
  auto records = [&](llvm::ArrayRef<eval::Port> ports) { return firstRecords(request.verifyData, ports); };
  std::map<const Pass *, unsigned> declared;
  auto onDeclared = [&](const Pass &pass, const eval::Deviation &) { ++declared[&pass]; };
  auto wrong = request.verifyData.empty() ? findWrongRewrite(readModel, pipeline, store, run, nullptr, onDeclared)
                                          : findWrongRewrite(readModel, pipeline, store, run, records, onDeclared);
  if (!wrong)
    return inFile(request.input, wrong.takeError());
  if (!*wrong) {
    for (const std::string &text : declaredTexts(declared))
      door.note(text);
    return llvm::Error::success();
  }
  verdict = Verdict::Refused;
  return inFile(request.input, makeError("computes something else after " + (*wrong)->text));
}

/// What would mend a refusal is tried on the result, which is made once more for it.
llvm::Error Job::writeRemarks(const Imported &imported, const RemarkRecorder &recorder) const {
  Remarks remarks{imported, recorder, target.get(), {}, nullptr};
  SourceTimes times;
  if (!request.observe.hot.empty()) {
    auto join = readFile(request.observe.hot, report::readJoinSummary);
    if (!join)
      return join.takeError();
    if (join->fingerprint != "sha256:" + origin::hex(imported.lineage.source->fingerprint))
      return inFile(request.observe.hot, makeError("is about another source than " + printable(request.input, 300)));
    for (auto &[id, row] : join->operators)
      times[id] = row.second;
    remarks.times = &times;
  }
  if (target) {
    auto again = [&](PayloadStore &store) -> llvm::Expected<Imported> {
      auto made = readChanged(store);
      if (made)
        if (llvm::Error error = rewrite(*made->model, store, options(*made->model)))
          return error;
      return made;
    };
    auto mends = mendings(again, *target);
    if (!mends)
      return inFile(request.input, mends.takeError());
    remarks.mends = std::move(*mends);
  }
  bool isJson = llvm::StringRef(request.observe.remarks).ends_with_insensitive(".json");
  return writeFile(request.observe.remarks, isJson ? remarksJson(remarks) : remarksText(remarks));
}

llvm::Expected<Job::Result> Job::optimize(PayloadStore &store, llvm::function_ref<void()> broken) const {
  llvm::Expected<Imported> imported = read(store);
  if (!imported)
    return imported.takeError();
  for (const std::string &note : imported->notes)
    door.note(note);
  Model &model = *imported->model;
  Result result{{}, imported->bytes, model.operatorCount(), dequantizers(model), takenText(model)};
  auto observer = Observer::create(request.observe, *imported, door);
  if (!observer)
    return observer.takeError();
  if (llvm::Error error = change(model))
    return error;
  PipelineOptions run = options(model);
  (*observer)->attach(run);
  RemarkRecorder recorder;
  if (!request.observe.remarks.empty())
    recorder.attach(run);
  std::set<std::string> refusals; // a rule may be wrong at many places
  run.onRefusal = [&](llvm::StringRef text) {
    if (refusals.insert(text.split(':').first.str()).second)
      door.note(text + "; not applied");
  };
  door.phase("optimising");
  if (passesThrough(model))
    door.note("the model is compiled for an accelerator already and is passed through as it is");
  if (llvm::Error error = rewrite(model, store, run)) {
    if (broken)
      broken();
    return error;
  }
  if (llvm::Error error = (*observer)->finish(llvm::errs()))
    return error;
  if (!request.observe.remarks.empty())
    if (llvm::Error error = writeRemarks(*imported, recorder))
      return error;
  result.imported = std::move(*imported);
  return result;
}

llvm::Error Job::runOnce(std::string proof) const {
  PayloadStore store(spillFolder(request.output));
  llvm::Expected<Result> made = optimize(store, [&] {
    if (request.verifyEach)
      writeReproducer();
  });
  if (!made)
    return made.takeError();
  const Model &model = *made->imported.model;
  made->imported.lineage.proof = std::move(proof);
  if (llvm::Error error = write(made->imported, request.output))
    return error;
  tellResult(door, made->bytes, request.output, made->operators, model.operatorCount(), model.rewrites,
             request.embed() != origin::Embed::None,
             !request.sparse.tensor.empty() ? "; the constant is sparse"
             : pipeline.empty()             ? "; no rewrite was asked for, -O1 is all safe ones"
                                            : "; no rewrite applied, --explain=NAME says why",
             dequantizers(model) < made->unpackers ? "; what was unpacked in each run is unpacked in the file now, "
                                                     "circle-quantizer --scheme=float16 packs it again"
                                                   : "");
  if (target)
    door.note(printable(target->name) + " before: " + made->taken + "; after: " + takenText(model));
  return llvm::Error::success();
}

llvm::Error Job::run(llvm::raw_ostream &os, Verdict &verdict) const {
  std::string proof;
  if (llvm::Error error = verify(verdict, proof))
    return error;
  return request.bisect.empty() ? runOnce(std::move(proof)) : bisect(*this, os);
}

} // namespace origo::commands
