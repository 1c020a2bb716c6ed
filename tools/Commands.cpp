/// The commands of `origo`, a row each.

#include "commands/Comparison.h"
#include "commands/Optimize.h"
#include "tools/Driver.h"
#include "tools/FrontDoor.h"
#include "tools/HelpPages.h"

#include "schema/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>

namespace origo::tools {

namespace {

int usage(const Call &call, const llvm::Twine &what) {
  return fail(what + "; origo " + call.command.name + " --help shows examples");
}

Option flag(const char *name, const char *help) { return flagRow(name, help, ""); }
Option value(const char *name, const char *of, const char *help) { return valueRow(name, of, help, ""); }
const Option jsonOption = flag("json", "The closing lines as JSON, on standard output");
const Option noRunOption = flag("no-run", "Do not run the two models to compare them");

std::vector<std::string> joined(std::vector<std::string> first, llvm::ArrayRef<std::string> second) {
  llvm::append_range(first, second);
  return first;
}

/// NAME.suffix.EXT in the current folder, of the format that the model has.
std::string besideHere(llvm::StringRef model, llvm::StringRef suffix) {
  bool isTflite = kindOf(model) == FileKind::Tflite;
  if (!kindOf(model) && !isStream(model))
    if (auto file = readInput(model))
      isTflite = (*file)->getBuffer().substr(4, 4) == "TFL3";
  return (llvm::sys::path::stem(model) + "." + suffix + (isTflite ? ".tflite" : ".circle")).str();
}

struct Closing {
  bool json, run;
  std::string records;
  explicit Closing(Call &call)
      : json(call.take("json").has_value()), run(!call.take("no-run")), records(call.take("data").value_or("")) {}

  /// The model that is compared with, as it is now.
  struct Before {
    commands::ModelFacts facts;
    std::optional<commands::Runner> runner = {};
  };
  llvm::Expected<Before> read(const std::string &model) const {
    auto facts = commands::factsOf(model, door());
    if (!facts)
      return facts.takeError();
    Before before{std::move(*facts)};
    if (run)
      before.runner.emplace(commands::Runner::open(model, door()));
    return before;
  }

  /// Runs the tool that makes `output` of `model`, which may be the same file, and tells of both.
  int make(const Call &call, llvm::StringRef tool, llvm::ArrayRef<std::string> words, const std::string &model,
           const std::string &output) const {
    bool same = false;
    std::optional<llvm::Expected<Before>> before;
    if (!llvm::sys::fs::equivalent(model, output, same) && same)
      before.emplace(read(model));
    if (before && !*before)
      return fail(before->takeError());
    if (int status = runTool(call, tool, words, Then::GoesOn))
      return status;
    next(printable(model, 300) + " -> " + printable(output, 300) + "\n\n");
    if (!before)
      before.emplace(read(model));
    return *before ? print(std::move(**before), output) : fail(before->takeError());
  }

  int print(Before before, const std::string &after) const {
    auto second = commands::factsOf(after, door());
    if (!second)
      return fail(second.takeError());
    std::optional<commands::RunFacts> runs;
    if (before.runner) {
      auto both = commands::runBoth(std::move(*before.runner), after, records, door());
      if (!both)
        return fail(both.takeError());
      runs = std::move(*both);
    }
    phase(nullptr);
    const commands::ModelFacts &first = before.facts;
    commands::printComparison(first, *second, runs ? &*runs : nullptr, json);
    bool unpacked = llvm::any_of(first.kinds, [](const auto &kind) { return kind.first == "DEQUANTIZE"; });
    if (unpacked && second->constantBytes > first.constantBytes + first.constantBytes / 4)
      next("\nThe constants grew, for what was unpacked in each run is unpacked in the file now.\n"
           "  origo quantize --scheme=float16 " +
           shellWord(after) + "    stores floats as halves again\n");
    return 0;
  }
  void next(const llvm::Twine &text) const {
    if (!json)
      llvm::outs() << text;
  }
};

/// Where somebody sits at a screen, a browser opens the page.
void openPage(const std::string &page) {
#ifdef __APPLE__
  llvm::StringRef opener = "open";
#else
  llvm::StringRef opener = "xdg-open";
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY"))
    return;
#endif
  auto program = llvm::sys::findProgramByName(opener);
  if (!llvm::outs().is_displayed() || !program)
    return;
  llvm::SmallString<128> path(page);
  if (llvm::sys::fs::make_absolute(path))
    return;
  std::optional<llvm::StringRef> nothing[] = {"", "", ""};
  // It outlives the terminal, which may go before the browser has a session of its own.
  std::signal(SIGHUP, SIG_IGN);
  llvm::sys::ExecuteNoWait(*program, {*program, path}, std::nullopt, nothing, 0, nullptr, nullptr, nullptr,
                           /*DetachProcess=*/true);
}

/// Writes the page of a model and of its source, which may be empty. `profiles`: with what each operator takes here.
int viewBoth(const Call &call, const Closing &closing, const std::string &source, const std::string &output,
             llvm::StringRef history, bool profiles) {
  std::string page = (llvm::sys::path::stem(output) + ".html").str();
  std::vector<std::string> words = {"-o", page};
  if (!source.empty())
    words.push_back("--source=" + source);
  if (!history.empty())
    words.push_back(("--history=" + history).str());
  llvm::SmallString<128> folder;
  auto remove = llvm::make_scope_exit([&] {
    if (!folder.empty())
      (void)llvm::sys::fs::remove_directories(folder);
  });
  if (profiles) {
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("origo-profile", folder))
      return fail("no folder for what is measured: " + error.message());
    std::string trace = (folder + "/this machine").str(); // as the page calls it
    if (int status = runTool(call, "circle-interpreter",
                             {"--engine=fast", "--seed=1", "--runs=10", "--profile=" + trace, "--", output},
                             Then::GoesOnSilently))
      return status;
    words.push_back("--profile=" + trace);
  }
  words.insert(words.end(), {"--", output});
  if (int status = runTool(call, "origin-view", words, Then::GoesOn))
    return status;
  closing.next("\n" + printable(page, 300) + " shows both: open it in a browser\n");
  if (!closing.json)
    openPage(page);
  return 0;
}

int optimize(Call &call) {
  if (call.hasAny({"list-passes", "print-pipeline", "config", "bisect"}))
    return runTool(call, "circle2circle", call.typed);
  if (call.arguments.empty() || call.arguments.size() > 2)
    return usage(call, "needs MODEL, and may be given OUTPUT");
  Closing closing(call);
  bool view = call.take("view").has_value(), profiles = call.take("profile").has_value();
  if (profiles && !view)
    return usage(call, "--profile is for the page: --view writes it");
  std::string model = call.arguments[0];
  std::string output = call.arguments.size() == 2 ? call.arguments[1] : besideHere(model, "optimized");
  std::vector<std::string> words = call.options();
  bool asked = call.has("passes") || call.hasCategory(commands::rewriteCategory) ||
               llvm::any_of(words, [](llvm::StringRef word) {
                 return word.ltrim('-').starts_with("O");
               }); // -O2 is refused, not -O1
  if (!asked)
    words.push_back("-O1");
  // Of each rewrite, for the page; what was rewritten before has another source.
  llvm::SmallString<128> history;
  bool isSource = true;
  if (view && !isStream(model)) {
    auto facts = commands::factsOf(model, door());
    if (!facts)
      return fail(facts.takeError());
    isSource = facts->source.empty();
  }
  if (view && isSource && !call.has("history")) {
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("origo", "history", history))
      return fail("no temporary file can be written: " + error.message());
    words.push_back("--history=" + std::string(history));
  }
  llvm::FileRemover remove(history, /*deleteIt=*/!history.empty());
  words.insert(words.end(), {"--", model, output});
  if (int status = closing.make(call, "circle2circle", words, model, output))
    return status;
  if (view)
    if (int status = viewBoth(call, closing, isSource && !isStream(model) ? model : "", output, history, profiles))
      return status;
  std::string result = shellWord(output), source = shellWord(model);
  closing.next("\nTry next:\n  origo where LAYER " + result + "    what became of a layer of yours\n  origo profile " +
               result + "        what takes how long\n  origo check " + result + (isStream(model) ? "" : " " + source) +
               "    are the origins true?\n");
  return 0;
}

int quantize(Call &call) {
  if (call.arguments.empty() || call.arguments.size() > 2)
    return usage(call, "needs MODEL, and may be given OUTPUT");
  Closing closing(call);
  if (auto given = call.take("input_data"); given && closing.records.empty()) // as the tool calls it
    closing.records = *given;
  bool hasMode =
      call.hasAny({"recipe", "quantize_dequantize_weights", "quantize_with_minmax", "quantize_weights", "requantize",
                   "fake_quantize", "quantize_onnx_fq_model", "force_quantparam", "copy_quantparam"});
  std::vector<std::string> words = call.options();
  bool hasRanges = !closing.records.empty() || call.has("statistics") || call.has("stats");
  std::string scheme = "quantized";
  if (auto given = call.take("scheme"))
    scheme = *given;
  else if (!hasMode) {
    scheme = hasRanges ? "int8" : "dynamic";
    words.push_back("--scheme=" + scheme);
    if (!hasRanges)
      note("without --data, weights alone become 8 bits (--scheme=dynamic)");
  }
  if (!closing.records.empty())
    words.push_back("--input_data=" + closing.records);
  std::string model = call.arguments[0];
  std::string output = call.arguments.size() == 2 ? call.arguments[1] : besideHere(model, scheme);
  words.insert(words.end(), {"--", model, output});
  if (int status = closing.make(call, "circle-quantizer", words, model, output))
    return status;
  closing.next(
      "\nToo far off? origo quantize --keep-float=NAME keeps an operator in floats, --scheme=int16x8 has more bits;\n"
      "more records in --data make better ranges. origo where LAYER " +
      shellWord(output) + " shows what became of a layer.\n");
  return 0;
}

int run(Call &call) {
  std::vector<std::string> words = call.options();
  if (!call.has("engine"))
    words.push_back("--engine=fast");
  if (!call.hasAny({"seed", "inputs", "kernels"}) && call.arguments.size() == 1)
    words.push_back("--seed=1");
  words.push_back("--");
  return runTool(call, "circle-interpreter", joined(std::move(words), call.arguments));
}

/// The only model of the current folder that has a side file beside it.
llvm::Expected<std::string> onlyModelHere() {
  std::vector<std::string> found;
  std::error_code ec;
  for (llvm::sys::fs::directory_iterator it(".", ec), end; !ec && it != end; it.increment(ec)) {
    llvm::StringRef name = llvm::sys::path::filename(it->path());
    if (name.consume_back(".origin.json") && llvm::sys::fs::exists(name))
      found.push_back(name.str());
  }
  if (found.size() == 1)
    return found.front();
  return makeError(found.empty() ? "which model? There is none with a side file in this folder"
                                 : "which model? There are several with a side file in this folder");
}

int where(Call &call) {
  if (call.arguments.empty() || call.arguments.size() > 2)
    return usage(call, "needs the name or number of a LAYER, and MODEL");
  std::string layer = call.arguments[0], model;
  if (call.arguments.size() == 2) {
    model = call.arguments[1];
    if (!llvm::sys::fs::exists(model) && llvm::sys::fs::exists(layer))
      std::swap(layer, model);
  } else {
    auto only = onlyModelHere();
    if (!only)
      return fail(only.takeError());
    model = *only;
    note("in " + printable(model, 300));
  }
  return runTool(call, "origin-dump", joined(call.options(), {"--where=" + layer, "--", model}));
}

int check(Call &call) {
  if (call.hasAny({"target", "import-webnn", "limits-of"}))
    return runTool(call, "circle-check", call.typed);
  if (call.arguments.empty() || call.arguments.size() > 2)
    return usage(call, "needs MODEL, and may be given its SOURCE");
  std::vector<std::string> words = call.options();
  words.push_back("--check");
  if (call.arguments.size() == 2)
    words.push_back("--source=" + call.arguments[1]);
  words.insert(words.end(), {"--", call.arguments[0]});
  return runTool(call, "origin-dump", words);
}

/// Measures here, and tells of it as of what a device measured. What has no origins is its own source.
int profileHere(const Call &call, std::vector<std::string> measuring, std::vector<std::string> telling) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("origo-profile", folder))
    return fail("no folder for what is measured: " + error.message());
  auto remove = llvm::make_scope_exit([&] { (void)llvm::sys::fs::remove_directories(folder); });
  std::string trace = (folder + "/profile.json").str(), model = call.arguments[0];
  PayloadStore store;
  auto imported = load(model, {}, store);
  if (!imported)
    return fail(imported.takeError());
  ExportOptions options;
  options.format = imported->model->format;
  std::string copy =
      (folder + "/" + llvm::sys::path::stem(model) + (options.format == Format::Tflite ? ".tflite" : ".circle")).str();
  if (llvm::Error error = exportModel(*imported->model, imported->lineage, copy, options))
    return fail(std::move(error));
  measuring.insert(measuring.end(), {"--profile=" + trace, "--", copy});
  if (int status = runTool(call, "circle-interpreter", measuring, Then::GoesOnSilently))
    return status;
  telling.insert(telling.end(), {"--join=" + trace, "--", copy});
  return runTool(call, "origin-dump", telling, Then::GoesOn);
}

/// The model that a trace of ours is of; what has none is said where the trace is read.
std::string modelOfTrace(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  auto trace = file ? llvm::json::parse((*file)->getBuffer()) : llvm::json::Value(nullptr);
  if (!trace)
    llvm::consumeError(trace.takeError());
  const auto *other = trace && trace->getAsObject() ? trace->getAsObject()->getObject("otherData") : nullptr;
  return other ? other->getString("model").value_or("").str() : "";
}

int profile(Call &call) {
  if (auto layers = call.has("layers") && call.arguments.size() == 1 ? call.take("layers") : std::nullopt) {
    std::string model = modelOfTrace(*layers);
    if (model.empty())
      return usage(call, "needs MODEL beside the samples, for " + printable(*layers, 200) + " does not tell it");
    return runTool(call, "origin-dump",
                   joined(call.options(), {"--layers=" + *layers, "--join=" + call.arguments[0], "--", model}));
  }
  if (call.arguments.empty() || call.arguments.size() > 2)
    return usage(call, "needs MODEL, and may be given the PROFILE of a device");
  if (call.arguments.size() == 2) {
    if (!kindOf(call.arguments[0]) && kindOf(call.arguments[1])) // told apart by their names
      std::swap(call.arguments[0], call.arguments[1]);
    return runTool(call, "origin-dump",
                   joined(call.options(), {"--join=" + call.arguments[1], "--", call.arguments[0]}));
  }
  auto trace = call.take("trace"); // of the run, not of what is told
  auto measuring = optionsOf("circle-interpreter"), telling = optionsOf("origin-dump");
  auto measures = [&](llvm::StringRef name) { return findOption(measuring, name) != nullptr; };
  bool alsoTells = !call.options([&](llvm::StringRef name) { return !measures(name); }).empty();
  std::vector<std::string> words =
      call.options([&](llvm::StringRef name) { return !alsoTells || (measures(name) && !findOption(telling, name)); });
  if (!call.has("engine"))
    words.push_back("--engine=fast");
  if (!call.hasAny({"seed", "inputs"}))
    words.push_back("--seed=1");
  if (trace)
    words.push_back("--trace=" + *trace);
  if (alsoTells)
    return profileHere(call, std::move(words),
                       call.options([&](llvm::StringRef name) { return findOption(telling, name); }));
  words.insert(words.end(), {"--profile", "--", call.arguments[0]});
  return runTool(call, "circle-interpreter", words);
}

int view(Call &call) {
  if (call.arguments.empty() || call.arguments.size() > 2)
    return usage(call, "needs MODEL, and may be given its SOURCE");
  bool json = call.take("json").has_value();
  std::string page = (llvm::sys::path::stem(call.arguments[0]) + ".html").str();
  if (auto given = call.take("o"))
    page = *given;
  else if (!json)
    note("writes " + printable(page, 300));
  std::vector<std::string> words = call.options();
  if (call.arguments.size() == 2)
    words.push_back("--source=" + call.arguments[1]);
  words.insert(words.end(), {"-o", page, "--", call.arguments[0]});
  if (int status = runTool(call, "origin-view", words, json ? Then::GoesOn : Then::Ends))
    return status;
  uint64_t bytes = 0;
  if (llvm::sys::fs::file_size(page, bytes))
    bytes = 0; // a pipe
  llvm::json::Object told{{"page", llvm::json::fixUTF8(page)}, {"bytes", static_cast<int64_t>(bytes)}};
  if (call.arguments.size() == 2)
    told["source"] = llvm::json::fixUTF8(call.arguments[1]);
  told["model"] = llvm::json::fixUTF8(call.arguments[0]);
  JsonOutput() << llvm::json::Value(std::move(told)) << '\n';
  return 0;
}

int blame(Call &call) {
  if (call.arguments.size() != 2)
    return usage(call, "needs the model, and what was made of it");
  bool json = call.take("json").has_value();
  std::vector<std::string> words = call.options();
  if (json)
    words.push_back("--json=-");
  words.insert(words.end(), {"--blame", "--fp32_circle=" + call.arguments[0], "--q_circle=" + call.arguments[1]});
  return runTool(call, "visq", words);
}

/// A command that is a tool under a shorter name.
template <const llvm::StringLiteral &Tool> int same(Call &call) { return runTool(call, Tool, call.typed); }
constexpr llvm::StringLiteral metricsTool = "circle-metrics", dumpTool = "circledump", reduceTool = "circle-reduce",
                              inferTool = "origin-infer", diffTool = "origin-diff";

int completion(Call &call) {
  if (call.arguments.size() != 1 || (call.arguments[0] != "bash" && call.arguments[0] != "zsh"))
    return usage(call, "needs bash or zsh");
  llvm::outs() << (call.arguments[0] == "bash" ? bashCompletion() : zshCompletion());
  return 0;
}

int manual(Call &call) {
  if (call.arguments.empty()) {
    llvm::outs() << "origo\n";
    for (const Command &command : frontCommands())
      llvm::outs() << "origo-" << command.name << '\n';
    for (const std::string &tool : installedTools())
      llvm::outs() << tool << '\n';
    return 0;
  }
  if (call.arguments.size() > 1)
    return usage(call, "needs one name");
  auto text = manualPage(call.arguments[0]);
  if (!text)
    return fail(text.takeError());
  llvm::outs() << *text;
  return 0;
}

} // namespace

/// Of origin-dump: what else it can be asked for, and what goes with that.
static const std::vector<llvm::StringLiteral> modesOfDump = {
    "where", "check",  "json",   "csv",     "dot", "from",    "ledger",       "summary",       "fingerprint",
    "strip", "join",   "layers", "compare", "by",  "columns", "clock",        "names",         "kernels",
    "split", "format", "trace",  "source",  "top", "sort",    "runtime-info", "source-profile"};

const std::vector<Command> &frontCommands() {
  static const std::vector<Command> table = {
      {"optimize",
       "MODEL [OUTPUT]",
       "Makes it smaller and faster, and compares the two",
       "Without OUTPUT, NAME.optimized.tflite (or .circle, as MODEL is) is written into the current folder, with its "
       "side\n"
       "file NAME.optimized.tflite.origin.json. All safe rewrites are applied, unless some are asked for.\n\n"
       "  origo optimize net.tflite                       writes net.optimized.tflite\n"
       "  origo optimize net.tflite net.circle            the extension tells the format\n"
       "  origo optimize --skip=fuse-activation net.tflite\n"
       "  origo optimize --data images.npy net.tflite     compares on records instead of random inputs\n"
       "  origo optimize --view net.tflite                writes net.optimized.html too, a page of both\n"
       "  origo optimize --view --profile net.tflite      with what each operator takes here\n"
       "  origo optimize --json net.tflite > report.json\n",
       {"circle2circle"},
       {},
       {jsonOption, noRunOption, value("data", "PATH", "Records to compare the two on, as origo quantize takes them"),
        flag("view",
             "Write NAME.optimized.html too, a page of both and of each rewrite, and open it where there is a screen"),
        flag("profile", "With --view: what each operator takes here, on random inputs")},
       optimize},
      {"quantize",
       "MODEL [OUTPUT]",
       "Stores it in integers, and says how far off the results are",
       "With --data, everything becomes 8 bits (--scheme=int8), and NAME.int8.tflite is written; without, only weights "
       "do\n"
       "(--scheme=dynamic).\n\n"
       "  origo quantize net.tflite --data images.npy     records of numpy, or a folder of them\n"
       "  origo quantize net.tflite --data images/ --scheme=int16x8\n"
       "  origo quantize net.tflite                       weights only, no data needed\n"
       "  origo optimize net.tflite && origo quantize net.optimized.tflite --data images/\n"
       "  origo quantize net.tflite --data images/ --keep-float=softmax\n"
       "  origo quantize net.tflite --data images/ --recipe recipe.json\n",
       {"circle-quantizer"},
       {"input_data"},
       {jsonOption, noRunOption, value("data", "PATH", "Records to take ranges from, and to compare the two on"),
        value("stats", "FILE", "Take ranges from what record-minmax --stats wrote")},
       quantize},
      {"run",
       "MODEL",
       "Runs it on files or random numbers, and shows the outputs",
       "  origo run net.tflite                            random inputs\n"
       "  origo run --inputs=in --outputs=out net.tflite  in/image.npy to out/scores.npy\n"
       "  origo run --runs=20 --threads=2 net.tflite      how long it takes\n",
       {"circle-interpreter"},
       {},
       {},
       run},
      {"where",
       "LAYER [MODEL]",
       "Tells what became of a layer of yours, and why",
       "Without MODEL, it is the only one of the current folder that has a side file.\n\n"
       "  origo where conv1/Relu net.optimized.tflite     by name, or a part of it\n"
       "  origo where 12 net.optimized.tflite             by number\n",
       {"origin-dump"},
       modesOfDump,
       {flag("json", "Print JSON")},
       where},
      {"diff",
       "A B",
       "Compares two models side by side, running them too",
       "  origo diff net.tflite net.int8.tflite\n"
       "  origo diff --data images.npy net.tflite net.int8.tflite\n"
       "  origo diff --no-run --json a.circle b.circle\n"
       "  origo diff --by=scope theirs.tflite ours.circle     which layers agree, whoever converted them?\n",
       {diffTool},
       {},
       {},
       same<diffTool>},
      {"check",
       "MODEL [SOURCE]",
       "Tests whether the origins are true, or whether a back end takes it",
       "  origo check net.optimized.tflite net.tflite     are the origins true?\n"
       "  origo check --target npu.json net.circle        what does the back end not take?\n",
       {"origin-dump", "circle-check"},
       modesOfDump,
       {flag("json", "Print JSON")},
       check},
      {"infer",
       "RESULT",
       "Finds the origins of what another program made and kept none of",
       "  origo infer --source net.tflite theirs.tflite   writes theirs.tflite.origin.json\n"
       "  origo infer --source net.tflite --json theirs.tflite\n",
       {inferTool},
       {},
       {},
       same<inferTool>},
      {"profile",
       "MODEL [PROFILE]",
       "Shows what takes how long, told of the layers that you wrote",
       "Without PROFILE, the model is run here until noise is small; with it, a device's profile is brought into the "
       "terms "
       "of the source.\n\n"
       "  origo profile net.optimized.tflite              on this machine\n"
       "  origo profile net.optimized.tflite --against=net.tflite --fail-if-slower=5%\n"
       "                                                  in turn with another one: which layers became slower\n"
       "  origo profile net.optimized.tflite --by=scope   told of each scope of names\n"
       "  origo profile net.optimized.tflite --trace=trace.json      for Perfetto and chrome://tracing\n"
       "  origo profile --layers=trace.json perf.txt      samples of perf script, by thread and time\n"
       "  origo profile net.circle device.csv --by=operator\n"
       "  origo profile net.circle device.csv --json > net.join.json\n",
       {"circle-interpreter", "origin-dump"},
       {"profile", "join", "compare", "where", "check", "from", "ledger", "summary", "fingerprint", "strip", "dot",
        "kernels"},
       {},
       profile},
      {"blame",
       "MODEL RESULT",
       "Tells which layers make the results differ, by their own error",
       "  origo blame net.tflite net.int8.tflite                    on random numbers\n"
       "  origo blame --data images.npy net.tflite net.int8.tflite\n",
       {"visq"},
       {"blame", "fp32_circle", "q_circle", "f", "q", "batch_size", "dump_dot_graph", "mpeir_output", "mse_output",
        "srmse_output", "tae_output", "json"},
       {flag("json", "Print JSON")},
       blame},
      {"view",
       "MODEL [SOURCE]",
       "Writes a page that shows it beside its source",
       "Without -o, NAME.html is written into the current folder. It needs no server.\n\n"
       "  origo view net.optimized.tflite net.tflite      writes net.optimized.html\n"
       "  origo view -o page.html net.optimized.tflite    the source as its origins tell it\n"
       "  origo view --json net.optimized.tflite          tells a program which file was written\n",
       {"origin-view"},
       {"source"},
       {flag("json", "Print what was written as JSON")},
       view},
      {"metrics",
       "MODEL",
       "Counts what each operator costs",
       "  origo metrics net.tflite\n"
       "  origo metrics --per=source --source=net.tflite net.optimized.tflite\n",
       {metricsTool},
       {},
       {},
       same<metricsTool>},
      {"dump",
       "MODEL",
       "Prints the tables of the file",
       "There is no --json: programs ask origo metrics --json for operators and tensors, origin-dump --json for "
       "origins.\n\n"
       "  origo dump net.tflite\n",
       {dumpTool},
       {},
       {},
       same<dumpTool>},
      {"reduce",
       "--output=SMALL MODEL -- COMMAND",
       "Cuts a model down to what makes a command fail",
       "What is left is the file that --output names. There is no --json: the exit status tells a program the rest.\n\n"
       "  origo reduce --output small.origo net.tflite -- ./fails.sh\n",
       {reduceTool},
       {},
       {},
       same<reduceTool>},
      {"completion",
       "bash|zsh",
       "Prints what makes a shell complete options",
       "  origo completion bash > /etc/bash_completion.d/origo\n"
       "  origo completion zsh > /usr/share/zsh/site-functions/_origo\n",
       {},
       {},
       {},
       completion},
      {"manual",
       "[NAME]",
       "Prints a manual page, or the names of all",
       "  origo manual optimize | man -l -                a command of origo\n"
       "  origo manual origin-dump | man -l -             a tool\n",
       {},
       {},
       {},
       manual},
  };
  return table;
}

} // namespace origo::tools
