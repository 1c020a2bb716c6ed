#include "commands/Optimize.h"

#include "commands/Config.h"
#include "commands/Files.h"
#include "commands/Onnx.h"
#include "commands/Prices.h"
#include "report/Columns.h"

#include <malloc.h>

namespace origo::commands {

using Request = OptimizeRequest;

template <>
inline constexpr auto choicesOf<FoundMap> =
    std::to_array<ChoiceOf<FoundMap>>({{"continue", FoundMap::Continue, "goes on (default); refused if it is stale"},
                                       {"restart", FoundMap::Restart, "is dropped: INPUT becomes the source"},
                                       {"ignore", FoundMap::Ignore, "is dropped, and no new one is written"}});
template <>
inline constexpr auto
    choicesOf<PriceOf> = std::to_array<ChoiceOf<PriceOf>>({{"pass", PriceOf::Pass, "each pass that applied, left out"},
                                                           {"rewrite", PriceOf::Rewrite, "each rewrite, in order"}});

namespace {

constexpr llvm::StringRef general = "General", origins = "Origins",
                          looking = "Seeing what happens (every rewrite has a number)";
constexpr Option prints{.category = looking, .python = Without::Prints}, rewrites{.category = rewriteCategory};

constexpr std::array ownRows{
    option<&Request::level>(
        "O", "level",
        "-O0: only convert (the default where no rewrite is asked for); -O1: all safe rewrites; -O2: "
        "and those that --target needs; -Os: and of these what makes no more operators",
        {.category = general, .word = "level", .prefix = true, .cfg = Without::Place}),
    option<&Request::passes>("passes", "a,b", "Run these passes (names: --list-passes)", {.category = general}),
    option<&Request::skip>("skip", "a,b", "Leave these passes out", {.category = general}),
    option<&Request::changeOutputs>("change_outputs", "a,b",
                                    "Make these tensors the outputs, and drop what they do not need",
                                    {.category = general}),
    option<&Request::config>("config", "file",
                             "Options from the section [one-optimize] of a .cfg file, with input_path and output_path; "
                             "the command line goes first",
                             {.category = general, .python = Without::Place, .cfg = Without::Place}),
    option<&Request::target>("target", "name|file",
                             "Limits of a back end (docs/targets.md), one of circle-check --list-targets or a file: "
                             "what it does not take is not made",
                             {.category = general}),
    option<&Request::allowOneStep>("allow-one-step",
                                   "With -O2: operators in 8 bits may be computed in another way, within one step of "
                                   "their result each",
                                   {.category = general}),
    option<&Request::allowHybridToFloat>("allow-hybrid-to-float",
                                         "With -O2: what has weights in 8 bits and computes in float may do so with "
                                         "kernels of float",
                                         {.category = general}),
    option<&Request::printPipeline>("print-pipeline",
                                    "Print the passes that would run, in their order and phases, and stop",
                                    {.category = general, .python = Without::Prints}),
    option<&Request::listPasses>("list-passes", "Print the passes and their flags, and stop",
                                 {.category = general, .python = Without::Prints}),
    option<&Request::verifyEach>("verify-each",
                                 "Verify the model and its origins after each rewrite; a rule that breaks a law of "
                                 "rewrites ends the run (else: a note, and it is not applied)",
                                 {.category = general}),
    option<&Request::threads>("threads", "N",
                              "At most so many threads; rewriting needs one, and the result never depends on it",
                              {.category = general, .python = Without::Ignored}),
    option<&Request::verifyNumerics>("verify-numerics",
                                     "Execute the model after each pass; a wrong rewrite is named, exit status 2",
                                     {.category = general}),
    option<&Request::verifyAlgebra>(
        "verify-algebra",
        "Prove each rewrite in exact arithmetic, without any tolerance (docs/proof.md); one "
        "that is not equal is named, exit status 2",
        {.category = general}),
    option<&Request::verifyData>("verify-data", "PATH",
                                 "With --verify-numerics: on the first four records there, as record-minmax reads "
                                 "them, instead of random numbers",
                                 {.category = general}),
    option<&Request::verbose>("verbose", "Ignored, for compatibility; results are always reported",
                              {.category = general, .also = "V", .python = Without::Ignored}),
    option<&Request::observe, &ObserveOptions::trace>("trace", "file", "Write one line of JSON a rewrite",
                                                      {.category = looking, .writes = true}),
    option<&Request::observe, &ObserveOptions::history>(
        "history", "file", "Write the rewrites in few bytes, and why operators stayed, for origin-view",
        {.category = looking, .writes = true}),
    option<&Request::observe, &ObserveOptions::remarks>(
        "remarks", "file",
        "Write what was left undone, by source layer: what the target refuses, and rules that declined; JSON where the "
        "name ends in .json, else a text",
        {.category = looking, .writes = true}),
    option<&Request::observe, &ObserveOptions::hot>(
        "hot", "file", "With --remarks: what takes time first, by what origin-dump --join --json wrote of a profile",
        {.category = looking}),
    option<&Request::observe, &ObserveOptions::stats>("stats", "Per rule: tried, applied, declined and why", prints),
    option<&Request::observe, &ObserveOptions::timePasses>("time-passes", "Time spent in each pass", prints),
    option<&Request::observe, &ObserveOptions::explain>(
        "explain", "name|id",
        "Which rules looked at this source operator, why each declined, and how far its pattern got", prints),
    option<&Request::observe, &ObserveOptions::printAfter>(
        "print-after", "a,b", "Print the model after each rewrite of these passes", prints),
    option<&Request::observe, &ObserveOptions::printChanged>("print-changed", "Print the model after each rewrite",
                                                             prints),
    option<&Request::prices>("prices", "WHAT",
                             "Tells what each is worth: operators, bytes, memory, time and error with it, against "
                             "without it:",
                             prints),
    option<&Request::pricesJson>("prices-json", "The same as JSON", prints),
    option<&Request::fuel>("fuel", "N", "Stop after N rewrites", {.category = looking}),
    option<&Request::bisect>("bisect", "command", "Find the first rewrite after which `command OUTPUT` fails", prints),
    option<&Request::sideFile>("origin-json", "file", "Where the side file goes (default: OUTPUT.origin.json)",
                               {.category = origins, .writes = true, .python = Without::Place}),
    option<&Request::givenMap>("origin-map", "file", "Side file of an INPUT that carries no map",
                               {.category = origins, .python = Without::Place}),
    option<&Request::linesFrom>("lines-from", "FILE.onnx", linesFromHelp, {.category = origins}),
    option<&Request::found>("origin", "WHAT", "An origin map found in INPUT:", {.category = origins}),
    option<&Request::sparse, &SparsifyRequest::tensor>(
        "sparsify_tensor", "name", "The constant with this name is stored without its zeros", rewrites),
    option<&Request::sparse, &SparsifyRequest::order>(
        "sparsify_traversal_order", "0,1,2,3",
        "In this order of dimensions, and of blocks behind them (default: as they are numbered)", rewrites),
    option<&Request::sparse, &SparsifyRequest::format>(
        "sparsify_format", "d,s", "Of each dimension: all places (d), or those that hold something (s)", rewrites),
    option<&Request::sparse, &SparsifyRequest::blockMap>("sparsify_block_map", "0,1",
                                                         "Dimensions that are divided into blocks", rewrites),
    option<&Request::sparse, &SparsifyRequest::blockSize>("sparsify_block_size", "4,1",
                                                          "How long a block is in each of them", rewrites),
};
constexpr auto constantRows = joinRows(ownRows, originRows<&Request::origins>);

/// The interface, which is no pass's; and what leaves a pass out.
constexpr llvm::StringLiteral turnInputs = "nchw_to_nhwc_input_shape", turnOutputs = "nchw_to_nhwc_output_shape",
                              keepsActivations = "exp_disable_sep_transposeconv_actfunc";

/// With a switch for each flag of the pass table: a flag of several passes stands there once.
Options allRows() {
  static const std::vector<Option> rows = [] {
    std::vector<Option> rows(constantRows.begin(), constantRows.end());
    auto add = [&](llvm::StringRef name, llvm::StringRef help, Without python = Without::Nothing) {
      if (!findOption(rows, name))
        rows.push_back(flagOption<&Request::flags>(name, help, {.category = rewriteCategory, .python = python}));
    };
    for (const Pass &pass : allPasses())
      for (const PassFlag &flag : pass.flags)
        add(flag.name, pass.name, Without::Flags);
    for (const char *name : {"mute_warnings", "disable_validation"})
      add(name, "accepted, changes nothing", Without::Ignored);
    add("generate_profile_data", "ONE's tables of origins beside the map: the default of --embed-origin is full",
        Without::Ignored);
    add(turnInputs, "inputs of four dimensions get their channels last; with --convert_nchw_to_nhwc");
    add(turnOutputs, "outputs of four dimensions get their channels last, likewise");
    add(keepsActivations, "leaves out separate-activation", Without::Flags);
    add("dynamic_batch_to_single_batch", "inputs whose first dimension is known at run time only get 1");
    return rows;
  }();
  return rows;
}

/// -O1 without what flags ask for that are off; what other flags of a pass ask for stays.
void leaveOut(Pipeline &pipeline, const Request &request) {
  auto isOff = [&](const PassFlag &flag) { return request.isOff(flag.name); };
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

llvm::Expected<std::vector<const Pass *>> passesNamed(const std::vector<std::string> &names) {
  std::vector<const Pass *> passes;
  for (const std::string &name : names)
    if (const Pass *pass = findPass(name))
      passes.push_back(pass);
    else
      return makeError("no such pass: \"" + printable(name) + "\"; --list-passes tells the names");
  return passes;
}

/// What on the command line asks for a pass.
std::string askedBy(const Pass &pass, const Request &request) {
  std::string by;
  auto add = [&](const llvm::Twine &word) { by += (by.empty() ? "" : " ") + word.str(); };
  if (request.level && request.level->number >= 1 && pass.inO1)
    add("-O" + Codec<Level>::out(*request.level));
  if (request.level && request.level->number == 2 && !pass.inO1 && pass.mends != Mends::Never)
    add("-O" + Codec<Level>::out(*request.level));
  if (llvm::is_contained(request.passes, pass.name))
    add("--passes");
  for (const PassFlag &flag : pass.flags)
    if (request.isOn(flag.name))
      add("--" + flag.name);
  return by;
}

/// Sets an option as a key of [one-optimize] says.
llvm::Error setKey(const Option &row, Request &request, llvm::StringRef value) {
  if (value.empty()) // as if it were not there
    return llvm::Error::success();
  if (row.flag)
    return row.set(&request, isSwitchedOn(value) ? "true" : "false");
  if (!row.splits)
    return row.set(&request, value);
  std::vector<std::string> parts;
  for (llvm::StringRef part : splitList(value))
    if (!part.trim().empty())
      parts.push_back(part.trim().str());
  return row.set(&request, joinList(parts));
}

} // namespace

llvm::Error applyConfig(Request &request) {
  if (request.config.empty())
    return llvm::Error::success();
  auto sections = readConfigFile(request.config);
  if (!sections)
    return sections.takeError();
  auto section = sections->find("one-optimize");
  if (section == sections->end())
    return inFile(request.config, makeError("has no section [one-optimize]"));
  Section keys = section->second;
  if (std::string name = groupOf(*sections); name == "O1" && !request.level) {
    request.level = Level{1};
  } else if (!name.empty() && name != "O1") {
    auto group = readGroup(name, request.config);
    if (group)
      keys.insert(group->begin(), group->end());
    else if (name != "O2" && name != "Os")
      return inFile(request.config, group.takeError());
    else if (llvm::consumeError(group.takeError()); !request.level)
      request.level = Level{2, name == "Os"};
  }
  const Request fresh;
  for (const auto &[key, value] : keys) {
    if (key == "input_path" || key == "output_path") {
      std::string &path = key == "input_path" ? request.input : request.output;
      path = path.empty() ? value : path;
      continue;
    }
    const Option *row = findOption(allRows(), key);
    if (!row || row->cfg != Without::Nothing)
      return inFile(request.config, makeError("[one-optimize]: unknown key \"" + printable(key) +
                                              "\"; the keys are the flags of circle2circle --help"));
    if (row->get(&request) == row->get(&fresh)) // the command line goes first
      if (llvm::Error error = setKey(*row, request, value))
        return inFile(request.config, makeError("[one-optimize] " + key + llvm::toString(std::move(error))));
  }
  return llvm::Error::success();
}

llvm::Error check(const Request &request, const Door &door) {
  if (llvm::Error error = pipelineOf(request, door).takeError())
    return error;
  if (!request.verifyData.empty() && !request.verifyNumerics)
    return makeError(door.spell("verify-data") + " goes with " + door.spell("verify-numerics"));
  if (!request.observe.hot.empty() && request.observe.remarks.empty())
    return makeError(door.spell("hot") + " goes with " + door.spell("remarks"));
  if (request.pricesJson && !request.prices)
    return makeError(door.spell("prices-json") + " goes with " + door.spell("prices"));
  return llvm::Error::success();
}

llvm::Expected<Pipeline> pipelineOf(const Request &request, const Door &door) {
  const Level level = request.level.value_or(Level());
  std::string spelled = "-O" + Codec<Level>::out(level);
  if (level.number > 2)
    return makeError("no such level: " + spelled + "; there are -O0, -O1, -O2 and -Os");
  if (level.number == 2 && request.target.empty())
    return makeError(spelled + " chooses by what a back end takes, and needs " + door.spell("target") +
                     ": a name of circle-check --list-targets, or a file");
  for (auto [given, name] : {std::pair(request.allowOneStep, "allow-one-step"),
                             std::pair(request.allowHybridToFloat, "allow-hybrid-to-float")})
    if (given && level.number != 2)
      return makeError(door.spell(name) + " goes with -O2");
  Pipeline pipeline = level.number >= 1 ? Pipeline::o1() : Pipeline();
  leaveOut(pipeline, request);
  if (request.sparse.tensor.empty())
    for (const Option &row : ownRows)
      if (row.name.starts_with("sparsify_") && row.get(&request) != std::vector<std::string>{""})
        return makeError(door.spell(row.name) + " goes with " + door.spell("sparsify_tensor"));
  auto added = passesNamed(request.passes), skipped = passesNamed(request.skip);
  if (!added || !skipped)
    return firstError(added, skipped);
  for (const Pass *pass : *added)
    pipeline.add(*pass);
  for (const Pass &pass : allPasses())
    for (const PassFlag &flag : pass.flags)
      if (request.isOn(flag.name))
        pipeline.add(pass, flag.scopes);
  if (level.number == 2) {
    llvm::SmallVector<Mends, 2> allowed;
    if (request.allowOneStep)
      allowed.push_back(Mends::WithinOneStep);
    if (request.allowHybridToFloat)
      allowed.push_back(Mends::HybridToFloat);
    pipeline.addMending(allowed);
    pipeline.keepsSmall = level.small;
  }
  pipeline.turnsInputs = request.isOn(turnInputs);
  pipeline.turnsOutputs = request.isOn(turnOutputs);
  if (request.isOn(keepsActivations))
    pipeline.remove("separate-activation");
  for (const Pass *pass : *skipped)
    pipeline.remove(pass->name);
  return pipeline;
}

static void listPasses(llvm::raw_ostream &os) {
  for (const Pass &pass : allPasses()) {
    os << llvm::left_justify(pass.name, 36)
       << (pass.inO1                    ? "O1  "
           : pass.mends != Mends::Never ? "O2  "
                                        : "    ")
       << pass.summary << '\n';
    for (const PassFlag &flag : pass.flags)
      os << llvm::left_justify("", 40) << "--" << flag.name << '\n';
  }
}

static void printPipeline(const Request &request, const Pipeline &pipeline, llvm::raw_ostream &os) {
  auto row = [&](size_t i) -> report::Cells {
    const Pass &pass = *pipeline.entries[i].pass;
    bool begins = i == 0 || pipeline.entries[i - 1].pass->phase != pass.phase;
    return {begins ? phaseName(pass.phase).str() : "", pass.name.str(), askedBy(pass, request), pass.summary.str()};
  };
  report::printColumns({"PHASE", "PASS", "ASKED FOR BY", "REWRITES"}, pipeline.entries.size(), row, os);
}

static llvm::Error optimizeFile(Request &request, Words words, const Door &door, Verdict &verdict) {
  // Tables that grew and went go back at once: else they would still take memory when the next ones grow.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  if (request.listPasses)
    return listPasses(llvm::outs()), llvm::Error::success();
  if (words.size() > 2)
    return makeError("there are too many arguments; --help shows examples");
  for (auto [word, file] : llvm::zip(words, std::array{&request.input, &request.output}))
    *file = word;
  if (llvm::Error error = applyConfig(request))
    return error;
  if (request.printPipeline) {
    auto pipeline = pipelineOf(request, door);
    if (pipeline)
      printPipeline(request, *pipeline, llvm::outs());
    return pipeline.takeError();
  }
  if (llvm::Error error = check(request, door))
    return error;
  if (llvm::Error error = takeFiles(request.input, request.output, {}))
    return error;
  if (llvm::Error error = checkOutput(request.output))
    return error;
  bool readsOnce = request.bisect.empty() && !request.prices; // else the input cannot be written over
  if (llvm::Error error = door.checkFiles(readsOnce ? request.input : "", request.output))
    return error;
  auto job = Job::of(request, door);
  if (!job)
    return job.takeError();
  if (llvm::Error error = job->run(llvm::outs(), verdict))
    return error;
  return request.prices ? tellPrices(*job, llvm::outs()) : llvm::Error::success();
}

const Command optimizeCommand = makeCommand<optimizeFile>(
    "circle2circle", "INPUT OUTPUT",
    "Optimises a .circle, .tflite or .origo model and writes where everything came from.\n\n"
    "  circle2circle -O1 net.tflite net.circle      optimise; net.circle.origin.json beside it\n"
    "  circle2circle net.circle net.tflite          convert only\n"
    "  circle2circle -O1 --skip=fuse-activation a.tflite b.tflite\n"
    "  circle2circle -O1 --stats a.tflite b.tflite  per rule: tried, applied, declined and why\n"
    "  circle2circle --config net.cfg               what [one-optimize] of the file says\n"
    "  circle2circle -O1 --target npu.json a.circle b.circle  only what the back end takes\n"
    "  circle2circle -O2 --target xnnpack-2.9 a.tflite b.tflite  and what it refuses in words that it takes\n"
    "  origin-dump net.circle                       what came from where\n",
    allRows);

} // namespace origo::commands
