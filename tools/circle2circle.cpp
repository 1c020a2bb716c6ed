#include "commands/Optimize.h"
#include "commands/Sparsify.h"
#include "export/Writer.h"
#include "ir/OpenFile.h"
#include "origin/codec/Json.h"
#include "passes/VerifyNumerics.h"
#include "quantize/Records.h"
#include "report/target/Target.h"
#include "schema/RunFiles.h"
#include "tools/Config.h"
#include "tools/Driver.h"
#include "tools/Observe.h"
#include "tools/OptionTable.h"
#include "tools/Prices.h"
#include "tools/Process.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <malloc.h>
#include <set>
#include <sys/wait.h>

using namespace origo;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory general("General");
cl::OptionCategory origins("Origins");
cl::OptionCategory flags(tools::rewriteCategory);

cl::opt<std::string> input(cl::Positional, cl::desc("INPUT"), cl::cat(general));
cl::opt<std::string> output(cl::Positional, cl::desc("OUTPUT"), cl::cat(general));
cl::opt<char> level("O", cl::Prefix, cl::init(0), cl::value_desc("level"),
                    cl::desc("-O0: only convert (the default where no rewrite is asked for); -O1: all safe rewrites"),
                    cl::cat(general));
cl::list<std::string> passes("passes", cl::CommaSeparated, cl::value_desc("a,b"),
                             cl::desc("Run these passes (names: --list-passes)"), cl::cat(general));
cl::list<std::string> skip("skip", cl::CommaSeparated, cl::value_desc("a,b"), cl::desc("Leave these passes out"),
                           cl::cat(general));
cl::list<std::string> changeOutputs("change_outputs", cl::CommaSeparated, cl::value_desc("a,b"),
                                    cl::desc("Make these tensors the outputs, and drop what they do not need"),
                                    cl::cat(general));
cl::opt<std::string> config("config", cl::value_desc("file"),
                            cl::desc("Options from the section [one-optimize] of a .cfg file, with input_path and "
                                     "output_path; the command line goes first"),
                            cl::cat(general));
cl::opt<std::string> targetFile("target", cl::value_desc("file"),
                                cl::desc("Limits of a back end (docs/targets.md): what it does not take is not made"),
                                cl::cat(general));
cl::opt<bool> printPipeline("print-pipeline",
                            cl::desc("Print the passes that would run, in their order and phases, and stop"),
                            cl::cat(general));
cl::opt<bool> verifyEach("verify-each",
                         cl::desc("Verify the model and its origins after each rewrite; a rule that breaks a law of "
                                  "rewrites ends the run (else: a note, and it is not applied)"),
                         cl::cat(general));
cl::opt<unsigned> threads("threads", cl::init(1), cl::value_desc("N"),
                          cl::desc("At most so many threads; rewriting needs one, and the result never depends on it"),
                          cl::cat(general));
cl::opt<bool> verifyNumerics("verify-numerics",
                             cl::desc("Execute the model after each pass; a wrong rewrite is named, exit status 2"),
                             cl::cat(general));
cl::opt<std::string>
    verifyData("verify-data", cl::value_desc("PATH"),
               cl::desc("With --verify-numerics: on the first four records there, as record-minmax reads "
                        "them, instead of random numbers"),
               cl::cat(general));
cl::opt<bool> verbose("verbose", cl::desc("Accepted; what was done is always said"), cl::cat(general));
cl::alias verboseShort("V", cl::aliasopt(verbose), cl::desc("Same as --verbose"), cl::cat(general));

cl::OptionCategory looking("Seeing what happens (every rewrite has a number)");
tools::ObserveOptions observe;
cl::opt<std::string, true> trace("trace", tools::writes, cl::location(observe.trace), cl::value_desc("file"),
                                 cl::desc("Write one line of JSON a rewrite"), cl::cat(looking));
cl::opt<std::string, true>
    history("history", tools::writes, cl::location(observe.history), cl::value_desc("file"),
            cl::desc("Write the rewrites in few bytes, and why operators stayed, for origin-view"), cl::cat(looking));
cl::opt<bool, true> timePasses("time-passes", cl::location(observe.timePasses), cl::desc("Time spent in each pass"),
                               cl::cat(looking));
cl::opt<std::string, true>
    explain("explain", cl::location(observe.explain), cl::value_desc("name|id"),
            cl::desc("Which rules looked at this source operator, why each declined, and how far "
                     "its pattern got"),
            cl::cat(looking));
cl::list<std::string> printAfter("print-after", cl::CommaSeparated, cl::value_desc("a,b"),
                                 cl::desc("Print the model after each rewrite of these passes"), cl::cat(looking));
cl::opt<bool, true> printChanged("print-changed", cl::location(observe.printChanged),
                                 cl::desc("Print the model after each rewrite"), cl::cat(looking));
cl::opt<tools::PriceOf>
    prices("prices",
           cl::desc("Tells what each is worth: operators, bytes, memory, time and error with it, against without it:"),
           cl::values(clEnumValN(tools::PriceOf::Pass, "pass", "each pass that applied, left out"),
                      clEnumValN(tools::PriceOf::Rewrite, "rewrite", "each rewrite, in order")),
           cl::cat(looking));
cl::opt<bool> pricesJson("prices-json", cl::desc("The same as JSON"), cl::cat(looking));
cl::opt<unsigned> fuel("fuel", cl::init(~0u), cl::value_desc("N"), cl::desc("Stop after N rewrites"), cl::cat(looking));
cl::opt<std::string> bisect("bisect", cl::value_desc("command"),
                            cl::desc("Find the first rewrite after which `command OUTPUT` fails"), cl::cat(looking));

cl::opt<origin::Embed>
    embed("embed-origin", cl::init(origin::Embed::Full), cl::desc("The origin map inside the model:"),
          cl::values(clEnumValN(origin::Embed::Full, "full", "with source names, and ONE's tables beside it (default)"),
                     clEnumValN(origin::Embed::Ids, "ids",
                                "without names, which stay in the side file, and without ONE's tables"),
                     clEnumValN(origin::Embed::None, "none", "nothing")),
          cl::cat(origins));
cl::opt<std::string> originJson("origin-json", tools::writes, cl::value_desc("file"),
                                cl::desc("Where the side file goes (default: OUTPUT.origin.json)"), cl::cat(origins));
cl::opt<bool> noOriginJson("no-origin-json", cl::desc("No side file"), cl::cat(origins));
cl::opt<std::string> originMap("origin-map", cl::value_desc("file"),
                               cl::desc("Side file of an INPUT that carries no map"), cl::cat(origins));

enum class Found { Continue, Restart, Ignore };
cl::opt<Found> found("origin", cl::init(Found::Continue), cl::desc("An origin map found in INPUT:"),
                     cl::values(clEnumValN(Found::Continue, "continue", "goes on (default); refused if it is stale"),
                                clEnumValN(Found::Restart, "restart", "is dropped: INPUT becomes the source"),
                                clEnumValN(Found::Ignore, "ignore", "is dropped, and no new one is written")),
                     cl::cat(origins));

/// Accepted for the sake of existing scripts; the named behaviour is what is always done, or does not apply.
const char *const settledFlags[] = {"mute_warnings", "disable_validation", "generate_profile_data"};

/// The interface, which is no pass's.
constexpr llvm::StringLiteral turnInputs = "nchw_to_nhwc_input_shape", turnOutputs = "nchw_to_nhwc_output_shape";

commands::SparsifyRequest sparse;
/// The constant that is stored without its zeros, and how.
cl::opt<std::string, true> sparsify[] = {
#define SPARSIFY(name, member, value, text)                                                                            \
  cl::opt<std::string, true>(name, cl::location(sparse.member), cl::value_desc(value), cl::desc(text), cl::cat(flags))
    SPARSIFY("sparsify_tensor", tensor, "name", "The constant with this name is stored without its zeros"),
    SPARSIFY("sparsify_traversal_order", order, "0,1,2,3",
             "In this order of dimensions, and of blocks behind them (default: as they are numbered)"),
    SPARSIFY("sparsify_format", format, "d,s", "Of each dimension: all places (d), or those that hold something (s)"),
    SPARSIFY("sparsify_block_map", blockMap, "0,1", "Dimensions that are divided into blocks"),
    SPARSIFY("sparsify_block_size", blockSize, "4,1", "How long a block is in each of them"),
#undef SPARSIFY
};

/// Switches that are asked for on the command line or in the configuration.
using FlagOptions = std::vector<std::unique_ptr<cl::opt<bool>>>;
llvm::StringSet<> inConfig; ///< flags that it speaks of

/// -O1 without what flags ask for that are off; what other flags of a pass ask for stays.
void leaveOut(Pipeline &pipeline, llvm::ArrayRef<std::unique_ptr<cl::opt<bool>>> flagOptions) {
  llvm::StringSet<> off;
  for (const auto &option : flagOptions)
    if (!*option && (option->getNumOccurrences() || inConfig.contains(option->ArgStr)))
      off.insert(option->ArgStr);
  auto isOff = [&](const PassFlag &flag) { return off.contains(flag.name); };
  for (const Pass &pass : allPasses()) {
    auto runs = [&](const Pipeline::Entry &entry) { return entry.pass == &pass; };
    if (llvm::none_of(pass.flags, isOff) || llvm::none_of(pipeline.entries, runs))
      continue;
    pipeline.remove(pass.name);
    for (const PassFlag &flag : pass.flags)
      if (!isOff(flag))
        pipeline.add(pass, flag.scopes);
  }
}

llvm::Expected<Pipeline> pipelineOf(llvm::ArrayRef<std::unique_ptr<cl::opt<bool>>> flagOptions) {
  auto asked = commands::levelPipeline(level ? char(level) : '0');
  if (!asked)
    return asked.takeError();
  Pipeline &pipeline = *asked;
  leaveOut(pipeline, flagOptions);
  if (sparse.tensor.empty())
    for (const auto &option : sparsify)
      if (!option.getValue().empty())
        return makeError("--" + option.ArgStr + " goes with --sparsify_tensor");
  if (llvm::Error error = commands::addPasses(pipeline, passes))
    return error;
  for (const auto &option : flagOptions)
    if (*option) {
      for (const Pass &pass : allPasses())
        for (const PassFlag &flag : pass.flags)
          if (flag.name == option->ArgStr)
            pipeline.add(pass, flag.scopes);
      pipeline.turnsInputs |= option->ArgStr == turnInputs;
      pipeline.turnsOutputs |= option->ArgStr == turnOutputs;
    }
  if (std::any_of(flagOptions.begin(), flagOptions.end(), [](const auto &option) {
        return *option && option->ArgStr == "exp_disable_sep_transposeconv_actfunc";
      }))
    pipeline.remove("separate-activation");
  if (llvm::Error error = commands::removePasses(pipeline, skip))
    return error;
  return asked;
}

llvm::Expected<std::shared_ptr<const origin::OriginMap>> readSideFile(llvm::StringRef path) {
  auto map = readFile(path, origin::readJson);
  if (!map)
    return map.takeError();
  return std::make_shared<const origin::OriginMap>(std::move(*map));
}

int listPasses() {
  for (const Pass &pass : allPasses()) {
    llvm::outs() << llvm::left_justify(pass.name, 36) << (pass.inO1 ? "O1  " : "    ") << pass.summary << '\n';
    for (const PassFlag &flag : pass.flags)
      llvm::outs() << llvm::left_justify("", 40) << "--" << flag.name << '\n';
  }
  return 0;
}

/// What on the command line asks for a pass.
std::string askedBy(const Pass &pass, llvm::ArrayRef<std::unique_ptr<cl::opt<bool>>> flagOptions) {
  std::vector<std::string> by;
  if (level == '1' && pass.inO1)
    by.push_back("-O1");
  if (llvm::is_contained(passes, pass.name))
    by.push_back("--passes");
  for (const auto &option : flagOptions)
    if (*option && llvm::any_of(pass.flags, [&](const PassFlag &flag) { return flag.name == option->ArgStr; }))
      by.push_back(("--" + option->ArgStr).str());
  return llvm::join(by, " ");
}

/// The pipeline as a table, in the order of the phases.
void printOrder(const Pipeline &pipeline, llvm::ArrayRef<std::unique_ptr<cl::opt<bool>>> flagOptions) {
  std::vector<std::array<std::string, 4>> rows = {{"PHASE", "PASS", "ASKED FOR BY", "REWRITES"}};
  llvm::StringRef last;
  for (const Pipeline::Entry &entry : pipeline.entries) {
    llvm::StringRef phase = phaseName(entry.pass->phase);
    rows.push_back({phase == last ? "" : phase.str(), entry.pass->name.str(), askedBy(*entry.pass, flagOptions),
                    entry.pass->summary.str()});
    last = phase;
  }
  size_t widths[3] = {};
  for (const auto &row : rows)
    for (unsigned i = 0; i < 3; ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto &row : rows) {
    for (unsigned i = 0; i < 3; ++i)
      llvm::outs() << llvm::left_justify(row[i], widths[i] + 2);
    llvm::outs() << row[3] << '\n';
  }
}

/// What the target does not take.
std::string refusal(const Operator &op, const report::Target &target) {
  std::vector<report::Violation> violations = report::checkOperator(op, target);
  if (violations.empty())
    return {};
  const report::Violation &first = violations.front();
  return "the target does not take " + op.opName() + (first.operand.empty() ? "" : ", " + first.operand) + ": " +
         first.rule + " is " + first.actual;
}

/// The options of a .cfg file that the command line does not give.
llvm::Error applyConfig(const FlagOptions &flagOptions) {
  auto sections = tools::readConfigFile(config);
  if (!sections)
    return sections.takeError();
  auto found = sections->find("one-optimize");
  if (found == sections->end())
    return inFile(config, makeError("has no section [one-optimize]"));
  tools::Section keys = found->second;
  if (std::string name = tools::groupOf(*sections); name == "O1" && level == 0) {
    level = '1';
  } else if (!name.empty() && name != "O1") {
    auto group = tools::readGroup(name, config);
    if (!group)
      return inFile(config, group.takeError());
    keys.insert(group->begin(), group->end());
  }
  for (const auto &[key, value] : keys) {
    if (key == "input_path" || key == "output_path") {
      cl::opt<std::string> &path = key == "input_path" ? input : output;
      if (path.empty())
        path = value;
    } else if (key == "change_outputs") {
      if (changeOutputs.empty()) {
        llvm::SmallVector<llvm::StringRef> names;
        llvm::StringRef(value).split(names, ',', -1, false);
        for (llvm::StringRef name : names)
          changeOutputs.push_back(name.trim().str());
      }
    } else {
      llvm::StringRef name = key;
      auto *text = llvm::find_if(sparsify, [&](const auto &option) { return option.ArgStr == name; });
      if (text != std::end(sparsify)) {
        if (text->getNumOccurrences() == 0)
          text->setValue(value);
        continue;
      }
      auto option = llvm::find_if(flagOptions, [&](const auto &option) { return option->ArgStr == name; });
      if (option == flagOptions.end())
        return inFile(config, makeError("[one-optimize]: unknown key \"" + printable(key) +
                                        "\"; the keys are the flags of circle2circle --help"));
      if ((*option)->getNumOccurrences() == 0) {
        (*option)->setValue(tools::isSwitchedOn(value));
        if (!value.empty())
          inConfig.insert(name);
      }
    }
  }
  return llvm::Error::success();
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

llvm::Expected<Imported> loadInput(PayloadStore &store) {
  ImportOptions options;
  options.origin = found == Found::Continue ? OriginMode::Continue : OriginMode::Restart;
  if (!originMap.empty()) {
    auto map = readSideFile(originMap);
    if (!map)
      return map.takeError();
    options.map = *map;
  }
  return tools::load(input, options, store);
}

llvm::Error applyChangeOutputs(Model &model, PayloadStore &store) {
  llvm::SmallVector<Value *> outputs;
  for (const std::string &name : changeOutputs) {
    Value *found = nullptr;
    for (Value *value : model.subgraphs.front()->values) {
      if (value->name != name)
        continue;
      if (found)
        return makeError("--change_outputs: several tensors have the name \"" + printable(name) + '"');
      found = value;
    }
    if (!found || found->isConstant() || (!found->producer() && !found->isGraphInput))
      return makeError("--change_outputs: no operator of the first subgraph computes a tensor \"" + printable(name) +
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

/// The run that the command line asks for, in its steps: read, change, rewrite, write. --bisect, --verify-numerics,
/// --prices and the reproducer make them as well, so that they judge this run and no other one.
class Job {
public:
  static llvm::Expected<Job> of(Pipeline pipeline, bool singleBatch) {
    Job job;
    job.pipeline = std::move(pipeline);
    job.singleBatch = singleBatch;
    if (targetFile.empty())
      return job;
    auto target = readFile(targetFile, report::readTarget);
    if (!target)
      return target.takeError();
    job.target = std::make_shared<report::Target>(std::move(*target));
    return job;
  }

  /// The input as it is.
  llvm::Expected<Imported> read(PayloadStore &store) const { return loadInput(store); }

  /// What is changed before the first rewrite.
  llvm::Error change(Model &model, PayloadStore &store) const {
    if (llvm::Error error = applyChangeOutputs(model, store))
      return inFile(input, std::move(error));
    if (singleBatch)
      if (llvm::Error error = fixBatch(model))
        return inFile(input, std::move(error));
    return llvm::Error::success();
  }

  /// Both.
  llvm::Expected<Imported> readChanged(PayloadStore &store) const {
    llvm::Expected<Imported> imported = read(store);
    if (imported)
      if (llvm::Error error = change(*imported->model, store))
        return error;
    return imported;
  }

  /// How the pipeline runs on a model. Who looks on is added to it.
  RunOptions options(const Model &model) const {
    RunOptions run;
    run.verifyEach = verifyEach;
    if (fuel != ~0u)
      run.fuel = fuel;
    run.format = formatOf(model);
    if (target)
      run.refuses = [target = target](const Operator &op) { return refusal(op, *target); };
    return run;
  }

  /// Models compiled for an accelerator are passed through as they are.
  bool passesThrough(const Model &model) const { return commands::isCompiled(model) && !pipeline.empty(); }

  /// Applies what is asked for; `instead`: another pipeline.
  llvm::Error rewrite(Model &model, PayloadStore &store, const RunOptions &options,
                      const Pipeline *instead = nullptr) const {
    const Pipeline &asked = instead ? *instead : pipeline;
    if (llvm::Error error = runPipeline(model, passesThrough(model) ? Pipeline() : asked, store, options))
      return inFile(input, std::move(error));
    if (sparse.tensor.empty())
      return llvm::Error::success();
    llvm::Error error = commands::sparsify(model, sparse, store);
    return error ? inFile(input, std::move(error)) : llvm::Error::success();
  }

  /// `notes`: takes what else is told.
  llvm::Error write(Imported &imported, const std::string &path, std::vector<std::string> *notes = nullptr) const {
    ExportOptions to;
    to.format = formatOf(*imported.model);
    to.notes = notes;
    to.embed = embedded();
    // A stream gets a side file only if it is told where.
    if (path == output && !noOriginJson && found != Found::Ignore && (!tools::isStream(output) || !originJson.empty()))
      to.originJson = originJson.empty() ? output + ".origin.json" : originJson;
    return tools::save(imported, path, to);
  }

  /// All of it, with at most `most` rewrites, into `path`; how many there were.
  llvm::Expected<uint32_t> make(const std::string &path, std::optional<uint32_t> most,
                                std::function<void(const RewriteEvent &)> onRewrite = nullptr,
                                const Pipeline *instead = nullptr) const {
    PayloadStore store;
    llvm::Expected<Imported> imported = readChanged(store);
    if (!imported)
      return imported.takeError();
    RunOptions run = options(*imported->model);
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

  /// Of what --verify-numerics found; none: nothing.
  llvm::Expected<std::optional<WrongRewrite>> verify(PayloadStore &store) const;
  /// The input as text beside the output, headed by the command that shows again how a rewrite broke the model.
  void writeReproducer(llvm::StringRef directory) const;

  static origin::Embed embedded() { return found == Found::Ignore ? origin::Embed::None : embed.getValue(); }

  Pipeline pipeline;

private:
  bool singleBatch = false;
  std::shared_ptr<const report::Target> target; ///< null: everything is taken

  static Format formatOf(const Model &model) { return tools::formatOf(output, model.format); }
};

void Job::writeReproducer(llvm::StringRef directory) const {
  PayloadStore store(directory.str());
  llvm::Expected<Imported> imported = readChanged(store);
  std::string path = output + ".reproducer.origo", names;
  for (const Pipeline::Entry &entry : pipeline.entries)
    names += (names.empty() ? "" : ",") + entry.pass->name.str();
  if (!imported)
    return llvm::consumeError(imported.takeError());
  if (llvm::Error error = tools::save(*imported, path, {}))
    return llvm::consumeError(std::move(error));
  tools::note("reproduce with: circle2circle --verify-each --passes=" + names +
              (target ? " --target=" + tools::shellWord(targetFile) : std::string()) + " " + tools::shellWord(path) +
              " out.circle");
}

llvm::Expected<std::optional<WrongRewrite>> Job::verify(PayloadStore &store) const {
  tools::phase("executing");
  auto changed = readChanged(store);
  if (!changed)
    return changed.takeError();
  if (passesThrough(*changed->model))
    return std::nullopt;
  RunOptions run = options(*changed->model);
  auto load = [&]() -> llvm::Expected<std::unique_ptr<Model>> {
    llvm::Expected<Imported> imported = readChanged(store);
    if (!imported)
      return imported.takeError();
    return std::move(imported->model);
  };
  constexpr uint64_t mostRecords = 4;
  auto records = [&](llvm::ArrayRef<eval::Port> ports) -> llvm::Expected<std::vector<std::vector<eval::OwnedTensor>>> {
    auto opened = quantize::openRecords(verifyData, quantize::RecordFormat::ByName, ports);
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
  };
  auto wrong = verifyData.empty() ? findWrongRewrite(load, pipeline, store, run)
                                  : findWrongRewrite(load, pipeline, store, run, records);
  if (!wrong)
    return inFile(input, wrong.takeError());
  return wrong;
}

llvm::Error run(const Job &job) {
  // Computed constants are spilled where there must be room anyway.
  llvm::StringRef directory = llvm::sys::path::parent_path(output);
  PayloadStore store(directory.empty() ? "." : directory.str());
  llvm::Expected<Imported> imported = job.read(store);
  if (!imported)
    return imported.takeError();
  for (const std::string &note : imported->notes)
    tools::note(note);
  Model &model = *imported->model;
  uint64_t bytes = imported->bytes; // the file may be written over
  size_t before = model.operatorCount(), unpackers = dequantizers(model);

  observe.printAfter = printAfter;
  observe.stats = llvm::AreStatisticsEnabled(); // LLVM has registered --stats already
  auto observer = tools::Observer::create(observe, *imported);
  if (!observer)
    return observer.takeError();
  if (llvm::Error error = job.change(model, store))
    return error;
  RunOptions options = job.options(model);
  (*observer)->attach(options);
  std::set<std::string> refusals; // a rule may be wrong at many places
  options.onRefusal = [&](llvm::StringRef text) {
    if (refusals.insert(text.split(':').first.str()).second)
      tools::note((text + "; not applied").str());
  };
  tools::phase("optimising");
  if (job.passesThrough(model))
    tools::note("the model is compiled for an accelerator already and is passed through as it is");
  if (llvm::Error error = job.rewrite(model, store, options)) {
    if (verifyEach)
      job.writeReproducer(directory);
    return error;
  }
  if (llvm::Error error = (*observer)->finish(llvm::errs()))
    return error;
  if (llvm::Error error = job.write(*imported, output))
    return error;
  tools::tellResult(bytes, output, before, model.operatorCount(), model.rewrites,
                    Job::embedded() != origin::Embed::None,
                    !sparse.tensor.empty() ? "; the constant is sparse"
                    : job.pipeline.empty() ? "; no rewrite was asked for, -O1 is all safe ones"
                                           : "; no rewrite applied, --explain=NAME says why",
                    dequantizers(model) < unpackers ? "; what was unpacked in each run is unpacked in the file now, "
                                                      "circle-quantizer --scheme=float16 packs it again"
                                                    : "");
  return llvm::Error::success();
}

/// Whether the command of --bisect succeeds on OUTPUT. An error: it was not started, or somebody ended it, which says
/// nothing about the model.
llvm::Expected<bool> commandSucceeds() {
  std::string command = bisect + " '" + output + "'";
  int status = std::system(command.c_str());
  int code = status == -1 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 126 || code == 127)
    return makeError("--bisect: the command cannot be started (exit status " + llvm::Twine(code) +
                     "), which says nothing about the model: " + printable(bisect, 300));
  if (code == 128 + SIGINT)
    return makeError("--bisect: the command was interrupted");
  return code == 0;
}

/// Finds the first rewrite after which the command fails, and leaves in OUTPUT what the run has made by then.
llvm::Error runBisect(const Job &job) {
  if (llvm::StringRef(output).contains('\''))
    return inFile(output, makeError("--bisect needs an output name without quotes"));
  if (output == "-")
    return makeError("--bisect needs an OUTPUT that the command can read, and \"-\" is none");
  std::string last;
  uint32_t applied = 0;
  auto passesAfter = [&](std::optional<uint32_t> most) -> llvm::Expected<bool> {
    auto made = job.make(output, most, [&](const RewriteEvent &event) { last = event.text(); });
    if (!made)
      return made.takeError();
    applied = *made;
    return commandSucceeds();
  };
  auto passes = passesAfter(std::nullopt);
  if (!passes)
    return passes.takeError();
  if (*passes) {
    llvm::outs() << "the command succeeds after all " << applied << " rewrites\n";
    return llvm::Error::success();
  }
  uint32_t good = 0, bad = applied;
  passes = passesAfter(0);
  if (!passes)
    return passes.takeError();
  if (!*passes)
    return makeError("--bisect: the command fails before the first rewrite already");
  while (bad - good > 1) {
    uint32_t middle = good + (bad - good) / 2;
    passes = passesAfter(middle);
    if (!passes)
      return passes.takeError();
    llvm::errs() << "after " << middle << " rewrites: " << (*passes ? "succeeds" : "fails") << '\n';
    (*passes ? good : bad) = middle;
  }
  auto made = job.make(output, bad, [&](const RewriteEvent &event) { last = event.text(); });
  if (!made)
    return made.takeError();
  llvm::outs() << "the command fails first after " << last << '\n';
  return llvm::Error::success();
}

/// Where it finds nothing, what it tried goes, and what was there before is there again.
llvm::Error bisectOrRestore(const Job &job) {
  tools::Scratch scratch("origo-bisect");
  if (scratch.error)
    return makeError("no folder for what OUTPUT is now: " + scratch.error.message());
  std::string files[] = {output, output + ".bin", originJson.empty() ? output + ".origin.json" : originJson};
  auto kept = [&](const std::string &file) { return scratch.file(llvm::Twine(&file - files)); };
  std::set<std::string> older;
  for (const std::string &file : files)
    if (auto identity = FileIdentity::of(file); identity && identity->name.empty()) {
      if (std::error_code code = llvm::sys::fs::copy_file(file, kept(file)))
        return inFile(file, makeError("cannot be kept while --bisect writes there: " + code.message()));
      older.insert(file);
    }
  llvm::Error error = runBisect(job);
  for (const std::string &file : files) {
    if (!error || !FileIdentity::of(file))
      continue;
    if (!older.count(file))
      llvm::sys::fs::remove(file);
    else if (auto bytes = MappedFile::open(kept(file)))
      error = llvm::joinErrors(std::move(error), writeFile(file, llvm::toStringRef((*bytes)->bytes())));
    else
      error = llvm::joinErrors(std::move(error), bytes.takeError());
  }
  return error;
}

} // namespace

int main(int argc, char **argv) {
  // Tables that grew and went go back at once: else they would still take memory when the next ones grow.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  // One switch a flag, from the pass table: a flag of several passes stands there once.
  FlagOptions flagOptions;
  std::set<llvm::StringRef> names;
  auto addFlag = [&](llvm::StringRef name, llvm::StringRef help) {
    if (names.insert(name).second)
      flagOptions.push_back(std::make_unique<cl::opt<bool>>(name, cl::desc(help), cl::cat(flags)));
  };
  for (const Pass &pass : allPasses())
    for (const PassFlag &flag : pass.flags)
      addFlag(flag.name, pass.name);
  for (const char *name : settledFlags)
    addFlag(name, "accepted, changes nothing");
  addFlag(turnInputs, "inputs of four dimensions get their channels last; with --convert_nchw_to_nhwc");
  addFlag(turnOutputs, "outputs of four dimensions get their channels last, likewise");
  addFlag("exp_disable_sep_transposeconv_actfunc", "leaves out separate-activation");
  addFlag("dynamic_batch_to_single_batch", "inputs whose first dimension is known at run time only get 1");
  cl::opt<bool> list("list-passes", cl::desc("Print the passes and their flags, and stop"), cl::cat(general),
                     cl::callback([](const bool &) { exit(listPasses()); }));

  auto work = [&] {
    if (!config.empty())
      if (llvm::Error error = applyConfig(flagOptions))
        return tools::fail(std::move(error));
    llvm::Expected<Pipeline> pipeline = pipelineOf(flagOptions);
    if (!pipeline)
      return tools::fail(pipeline.takeError());
    bool singleBatch = llvm::any_of(
        flagOptions, [](const auto &option) { return *option && option->ArgStr == "dynamic_batch_to_single_batch"; });
    if (printPipeline) {
      printOrder(*pipeline, flagOptions);
      return 0;
    }
    if (!verifyData.empty() && !verifyNumerics)
      return tools::fail("--verify-data goes with --verify-numerics");
    if (pricesJson && !prices.getNumOccurrences())
      return tools::fail("--prices-json goes with --prices");
    if (input.empty() || output.empty())
      return tools::fail("needs INPUT and OUTPUT; --help shows examples");
    if (llvm::Error error = tools::checkOutput(output))
      return tools::fail(std::move(error));
    // What reads the input again and again cannot write over it.
    bool once = bisect.empty() && !prices.getNumOccurrences();
    if (llvm::Error error = tools::checkFiles(once ? input.getValue() : "", output))
      return tools::fail(std::move(error));
    auto job = Job::of(std::move(*pipeline), singleBatch);
    if (!job)
      return tools::fail(job.takeError());
    if (verifyNumerics) {
      PayloadStore store;
      auto wrong = job->verify(store);
      if (!wrong)
        return tools::fail(wrong.takeError());
      if (*wrong) {
        tools::fail(inFile(input, makeError("computes something else after " + (*wrong)->text)));
        return 2;
      }
    }
    if (llvm::Error error = bisect.empty() ? run(*job) : bisectOrRestore(*job))
      return tools::fail(std::move(error));
    if (prices.getNumOccurrences())
      if (llvm::Error error = tools::tellPrices(
              job->pipeline, prices,
              [&](const Pipeline &tried, auto amount, const std::string &path, auto onRewrite) {
                return job->make(path, amount, onRewrite, &tried).takeError();
              },
              tools::kindOf(output) == tools::FileKind::Tflite ? ".tflite" : ".circle", pricesJson, llvm::outs()))
        return tools::fail(std::move(error));
    return 0;
  };
  return tools::main(argc, argv, "circle2circle", {&general, &origins, &looking, &flags},
                     "Optimises a .circle, .tflite or .origo model and writes where everything came from.\n\n"
                     "  circle2circle -O1 net.tflite net.circle      optimise; net.circle.origin.json beside it\n"
                     "  circle2circle net.circle net.tflite          convert only\n"
                     "  circle2circle -O1 --skip=fuse-activation a.tflite b.tflite\n"
                     "  circle2circle -O1 --stats a.tflite b.tflite  per rule: tried, applied, declined and why\n"
                     "  circle2circle --config net.cfg               what [one-optimize] of the file says\n"
                     "  circle2circle -O1 --target npu.json a.circle b.circle  only what the back end takes\n"
                     "  origin-dump net.circle                       what came from where\n",
                     work);
}
