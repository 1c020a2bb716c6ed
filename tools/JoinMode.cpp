#include "tools/JoinMode.h"

#include "ir/OpenFile.h"
#include "report/join/Compare.h"
#include "report/join/Print.h"
#include "report/join/Results.h"
#include "report/profile/Readers.h"
#include "tools/Related.h"

#include "export/Writer.h"
#include "origin/Fingerprint.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace origo;
using namespace origo::report;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Profiles");
cl::opt<std::string> joinPath("join", cl::value_desc("PROFILE"), cl::cat(category),
                              cl::desc("Bring a profile of MODEL into the terms of its source; with --json or --csv"));
cl::opt<std::string> format("format", cl::value_desc("NAME"), cl::cat(category),
                            cl::desc("Read the profile as that, instead of telling from its content"));
cl::opt<SplitRule>
    rule("split", cl::cat(category), cl::init(SplitRule::Macs),
         cl::desc("Divide an operator's time among its origins by"),
         cl::values(clEnumValN(SplitRule::Macs, "macs", "multiply-accumulates, at least 1 each (default)"),
                    clEnumValN(SplitRule::Bytes, "bytes", "bytes read and written"),
                    clEnumValN(SplitRule::Equal, "equal", "their number"),
                    clEnumValN(SplitRule::Measured, "measured",
                               "what they took in the profile of the source, --source-profile")));
cl::opt<By> by("by", cl::cat(category), cl::init(By::Row), cl::desc("The lines of the table and of --csv are"),
               cl::values(clEnumValN(By::Row, "row", "the rows of the profile (default)"),
                          clEnumValN(By::Operator, "operator", "source operators"),
                          clEnumValN(By::Type, "type", "types of source operators"),
                          clEnumValN(By::Scope, "scope",
                                     "scopes in their names, block3/, block3/conv/; each level adds up to the total"),
                          clEnumValN(By::Pass, "pass", "passes; with --source-profile, what each saved")));
cl::opt<unsigned> top("top", cl::init(0), cl::value_desc("N"), cl::cat(category),
                      cl::desc("Only the N lines of the table that cost or changed most"));
enum class Sort { Default, Id, Change, A, B };
cl::opt<Sort> sortBy("sort", cl::cat(category), cl::init(Sort::Default), cl::desc("The lines of the table go by"),
                     cl::values(clEnumValN(Sort::Id, "id", "the number of the source operator"),
                                clEnumValN(Sort::Change, "change", "falling change (default of --compare)"),
                                clEnumValN(Sort::A, "a", "falling time; of --compare, that of A"),
                                clEnumValN(Sort::B, "b", "of --compare, the time of B")));
cl::opt<std::string> tracePath("trace", tools::writes, cl::value_desc("FILE"), cl::cat(category),
                               cl::desc("Write a trace for Perfetto with origins in it as well"));
cl::opt<bool> comparing("compare", cl::cat(category),
                        cl::desc("Compare MODEL and OUTPUT, two results of one source or two files that --join --json "
                                 "wrote, by source operator"));
cl::opt<std::string> timesPaths("times", cl::value_desc("A,B"), cl::cat(category),
                                cl::desc("With --compare of results: what --join --json wrote of each"));
cl::opt<std::string> errorsPaths("errors", cl::value_desc("A,B"), cl::cat(category),
                                 cl::desc("With --compare of results: what visq --json wrote of each"));
cl::list<std::string> columns("columns", cl::CommaSeparated, cl::value_desc("ROLE=TITLE,…"), cl::cat(category),
                              cl::desc("Which columns of a table (formats csv, json) are what"));
cl::opt<std::string> clockRate("clock", cl::value_desc("MHZ"), cl::cat(category),
                               cl::desc("How fast the clock is that cycles are counted in (default 1000)"));
cl::opt<std::string>
    namesPath("names", cl::value_desc("FILE"), cl::cat(category),
              cl::desc("CSV file of two columns: a layer's name in the profile, a tensor's in the model"));
cl::opt<std::string> kernelsPath("kernels", cl::value_desc("FILE"), cl::cat(category),
                                 cl::desc("Table of a code generator's kernels and their offsets"));
cl::opt<std::string>
    runtimeInfoPath("runtime-info", cl::value_desc("FILE"), cl::cat(category),
                    cl::desc("benchmark_model's --model_runtime_info_output_file: what delegates replaced"));
cl::opt<std::string> sourceProfilePath("source-profile", cl::value_desc("PROFILE"), cl::cat(category),
                                       cl::desc("A profile of the source model"));

llvm::Expected<ProfileOptions> profileOptions() {
  ProfileOptions options;
  options.format = format;
  for (const std::string &column : columns) {
    auto [role, title] = llvm::StringRef(column).split('=');
    if (role.empty() || title.empty())
      return makeError("--columns: \"" + printable(column, 60) + "\" is not ROLE=TITLE");
    options.columns.emplace_back(role.str(), title.str());
  }
  return options;
}

llvm::Expected<Profile> openProfile(const std::string &path) {
  auto options = profileOptions();
  if (!options)
    return options.takeError();
  if (path != joinPath)
    options->format.clear(); // --format is about that one
  return readFile(path, [&](llvm::StringRef bytes) { return readProfile(bytes, *options); });
}

llvm::Expected<std::map<std::string, std::string>> readNames(llvm::StringRef text) {
  std::map<std::string, std::string> names;
  while (!text.empty()) {
    auto cells = takeCsvLine(text);
    if (!cells)
      return cells.takeError();
    if (cells->size() == 1 && llvm::StringRef(cells->front()).trim().empty())
      continue;
    if (cells->size() != 2)
      return makeError("a line has " + llvm::Twine(cells->size()) +
                       " cells; two are expected, the layer and the tensor");
    std::string layer = llvm::StringRef((*cells)[0]).trim().str();
    if (!names.try_emplace(layer, llvm::StringRef((*cells)[1]).trim().str()).second)
      return makeError("the layer \"" + printable(layer, 60) + "\" is there twice");
  }
  return names;
}

llvm::Error readClock(JoinOptions &options) {
  if (!clockRate.getNumOccurrences())
    return llvm::Error::success();
  auto hertz = parseDecimal(clockRate, 6);
  if (!hertz || !*hertz) {
    llvm::consumeError(hertz.takeError());
    return makeError("--clock: \"" + printable(clockRate, 40) + "\" is not a number of MHz");
  }
  options.hertz = *hertz;
  return llvm::Error::success();
}

/// A table of kernels, or Vela's debug database, whose operators are guessed from types and shapes.
llvm::Expected<KernelTable> readKernels(llvm::StringRef text, const origin::Target &target,
                                        const origin::FileGraph *graph) {
  if (!text.ltrim().starts_with("<"))
    return readKernelTable(text);
  ProfileOptions vela;
  vela.format = "vela";
  auto queue = readProfile(text, vela);
  if (!queue)
    return queue.takeError();
  auto join = matchRows(std::move(*queue), target, graph, {});
  if (!join)
    return join.takeError();
  return kernelsOf(*join, target);
}

llvm::Expected<JoinOptions> joinOptions(const origin::Target &target, const origin::FileGraph *graph) {
  JoinOptions options;
  if (llvm::Error error = readClock(options))
    return error;
  if (!namesPath.empty()) {
    auto names = readFile(namesPath, readNames);
    if (!names)
      return names.takeError();
    options.names = std::move(*names);
  }
  if (!kernelsPath.empty()) {
    auto kernels = readFile(kernelsPath, [&](llvm::StringRef text) { return readKernels(text, target, graph); });
    if (!kernels)
      return kernels.takeError();
    options.kernels = std::move(*kernels);
  }
  if (!runtimeInfoPath.empty()) {
    auto partitions = readFile(runtimeInfoPath, readRuntimeInfo);
    if (!partitions)
      return partitions.takeError();
    options.partitions = std::move(*partitions);
  }
  return options;
}

/// The notes; and a profile of which nothing fits is refused.
llvm::Error tellAbout(const Join &join, const std::string &path) {
  if (join.foreign)
    return makeError(printable(path) + ": foreign profile: none of its rows is about an operator of this model" +
                     (join.notes.empty() ? "" : "; " + llvm::join(join.notes, "; ")));
  for (const std::string &text : join.notes)
    tools::note(printable(path) + ": " + text);
  return llvm::Error::success();
}

/// The source as if it were a written model whose operators are their own origins.
origin::Target asTarget(const origin::Listing &source) {
  origin::Target target;
  target.fingerprint = source.fingerprint;
  for (const origin::SourceSubgraph &graph : source.subgraphs) {
    origin::TargetSubgraph &to = target.subgraphs.emplace_back();
    for (const origin::SourceOperator &op : graph.operators) {
      origin::OperatorRow &row = to.operators.emplace_back();
      row.op = op.op;
      row.customCode = op.customCode;
      row.origins = {graph.firstOperator + static_cast<uint32_t>(to.operators.size() - 1)};
      for (int32_t id : op.tensors) {
        const origin::SourceTensor *tensor = id < 0 ? nullptr : source.findTensor(static_cast<uint32_t>(id));
        row.outputs.push_back(tensor ? tensor->name.str() : "");
      }
    }
  }
  return target;
}

/// Matches a profile of the source to the source.
llvm::Expected<Join> joinSource(const origin::OriginMap &map, const origin::FileGraph *source) {
  auto profile = openProfile(sourceProfilePath);
  if (!profile)
    return profile.takeError();
  origin::OriginMap ofSource;
  ofSource.source = map.source;
  ofSource.target = asTarget(map.source);
  JoinOptions options; // kernels and partitions are those of the written model
  if (llvm::Error error = readClock(options))
    return error;
  auto join = matchRows(std::move(*profile), ofSource.target, source, options);
  if (!join)
    return inFile(printable(sourceProfilePath), join.takeError());
  SplitWeights weights(SplitRule::Macs, ofSource, source, nullptr);
  if (llvm::Error error = divideTime(*join, ofSource, weights))
    return error;
  if (llvm::Error error = tellAbout(*join, sourceProfilePath))
    return error;
  return join;
}

llvm::Error writeTrace(const Join &join, const MapNames &names) {
  return writeFile(tracePath, [&](llvm::raw_ostream &os) {
    printJoinTrace(join, names, os);
    return llvm::Error::success();
  });
}

llvm::Error joinProfile(origin::OriginFile &file, const tools::JoinModeOptions &options) {
  origin::OriginMap &map = *file.map;
  std::optional<origin::FileGraph> target, source;
  if (file.model)
    target.emplace(file.model->view());
  std::unique_ptr<origin::ModelFile> sourceModel;
  if (!options.source.empty()) {
    auto opened = tools::openModelFile(options.source);
    if (!opened)
      return opened.takeError();
    sourceModel = std::move(*opened);
    origin::Listing listing = origin::describe(sourceModel->view());
    if (llvm::Error error = tools::expectSource(options.source, options.model, map.source, listing))
      return error;
    source.emplace(sourceModel->view());
    if (!map.source.namesKnown) { // embedded with ids only, and no side file at hand
      std::string name = std::move(map.source.file);
      map.source = std::move(listing);
      map.source.file = std::move(name);
    }
  }
  if (sortBy == Sort::Change || sortBy == Sort::B)
    return makeError("--sort=change and --sort=b go with --compare");
  auto profile = openProfile(joinPath);
  if (!profile)
    return profile.takeError();
  auto how = joinOptions(map.target, target ? &*target : nullptr);
  if (!how)
    return how.takeError();
  if (file.model && llvm::any_of(profile->rows, [](const ProfileRow &row) { return !row.fingerprint.empty(); }))
    how->fileHash = origin::hex(llvm::SHA256::hash(file.model->bytes()));
  auto join = matchRows(std::move(*profile), map.target, target ? &*target : nullptr, *how);
  if (!join)
    return inFile(printable(joinPath), join.takeError());
  std::optional<Join> before;
  if (!sourceProfilePath.empty()) {
    auto joined = joinSource(map, source ? &*source : nullptr);
    if (!joined)
      return joined.takeError();
    before = std::move(*joined);
  }
  SplitWeights weights(rule, map, source ? &*source : nullptr, target ? &*target : nullptr);
  if (rule == SplitRule::Measured) {
    if (!before)
      return makeError("--split=measured needs a profile of the source model: --source-profile=PROFILE");
    weights.measured = timeByOperator(*before);
  }
  if (llvm::Error error = divideTime(*join, map, weights))
    return error;
  if (llvm::Error error = tellAbout(*join, joinPath))
    return error;
  if (size_t count = weights.estimated())
    tools::note(llvm::Twine(count) + " source operators are weighed by a guess" +
                (rule == SplitRule::Measured ? ": they have no time in the profile of the source"
                 : source                    ? ": their shapes are not known"
                                             : "; --source=MODEL has their shapes"));
  MapNames names(map);
  const Join *ofSource = before ? &*before : nullptr;
  if (!tracePath.empty())
    if (llvm::Error error = writeTrace(*join, names))
      return error;
  tools::JsonOutput json;
  if (options.json)
    printJoinJson(*join, names, ofSource, json);
  else if (options.csv)
    printJoinCsv(*join, names, by, ofSource, llvm::outs());
  else
    printJoin(*join, names, by, ofSource, {options.full, top, sortBy == Sort::Id}, llvm::outs());
  return llvm::Error::success();
}

CompareOrder compareOrder() {
  return sortBy == Sort::Id  ? CompareOrder::Id
         : sortBy == Sort::A ? CompareOrder::A
         : sortBy == Sort::B ? CompareOrder::B
                             : CompareOrder::Change;
}
CompareFormat compareFormat(const tools::JoinModeOptions &options) {
  return options.json ? CompareFormat::Json : options.csv ? CompareFormat::Csv : CompareFormat::Table;
}

/// Both files that an option names; nothing where it is not given.
template <class T>
llvm::Error readBoth(const cl::opt<std::string> &option, llvm::Expected<T> (*read)(llvm::StringRef),
                     std::optional<std::pair<T, T>> &both) {
  if (!option.getNumOccurrences())
    return llvm::Error::success();
  auto [a, b] = llvm::StringRef(option).split(',');
  if (a.empty() || b.empty())
    return makeError("--" + option.ArgStr + " takes two files: --" + option.ArgStr + "=a.json,b.json");
  auto first = readFile(a.str(), read);
  if (!first)
    return first.takeError();
  auto second = readFile(b.str(), read);
  if (!second)
    return second.takeError();
  both.emplace(std::move(*first), std::move(*second));
  return llvm::Error::success();
}

llvm::Error compareModels(const std::string &other, const tools::JoinModeOptions &options) {
  ResultFigures figures;
  if (llvm::Error error = readBoth(timesPaths, readJoinSummary, figures.times))
    return error;
  if (llvm::Error error = readBoth(errorsPaths, readErrorSummary, figures.errors))
    return error;
  PayloadStore store;
  std::vector<ResultSummary> results;
  for (const std::string &path : {options.model, other}) {
    auto imported = tools::load(path, {}, store);
    if (!imported)
      return imported.takeError();
    for (const std::string &text : imported->notes)
      tools::note(text);
    results.push_back(summarize(*imported));
  }
  auto compared =
      compareResults(results[0], results[1], figures, by == By::Scope ? CompareBy::Scope : CompareBy::Operator,
                     compareFormat(options), {options.full, top, compareOrder()}, llvm::outs());
  if (!compared)
    return compared.takeError();
  if (!compared->empty())
    tools::note(*compared);
  return llvm::Error::success();
}

llvm::Error compare(const std::string &other, const tools::JoinModeOptions &options) {
  if (by.getNumOccurrences() && by != By::Operator && by != By::Scope)
    return makeError("--compare goes --by=operator (default) or --by=scope");
  auto first = openFile(options.model);
  if (!first)
    return first.takeError();
  if (!(*first)->getBuffer().ltrim().starts_with("{"))
    return compareModels(other, options);
  if (timesPaths.getNumOccurrences() || errorsPaths.getNumOccurrences())
    return makeError("--times and --errors go with --compare of two models");
  auto a = readFile(options.model, readJoinSummary);
  if (!a)
    return a.takeError();
  auto b = readFile(other, readJoinSummary);
  if (!b)
    return b.takeError();
  auto compared = compareJoins(*a, *b, by == By::Scope ? CompareBy::Scope : CompareBy::Operator, compareFormat(options),
                               {options.full, top, compareOrder()}, llvm::outs());
  if (!compared)
    return compared.takeError();
  if (!compared->empty())
    tools::note(*compared);
  return llvm::Error::success();
}

} // namespace

cl::OptionCategory &tools::joinCategory() { return category; }
bool tools::wantsJoin() { return joinPath.getNumOccurrences() > 0; }
bool tools::wantsCompare() { return comparing; }

std::string tools::strayJoinOption() {
  for (const cl::Option *option : {static_cast<const cl::Option *>(&top), static_cast<const cl::Option *>(&sortBy)})
    if (option->getNumOccurrences() && !wantsJoin() && !wantsCompare())
      return option->ArgStr.str();
  const cl::Option *options[] = {&format,    &rule,      &by,          &tracePath,       std::addressof(columns),
                                 &clockRate, &namesPath, &kernelsPath, &runtimeInfoPath, &sourceProfilePath};
  for (const cl::Option *option : options)
    if (option->getNumOccurrences() && !wantsJoin() && !(option == &by && wantsCompare()))
      return option->ArgStr.str();
  return "";
}

void tools::becomeOwnSource(origin::OriginFile &file, const std::string &path) {
  origin::OriginMap &map = file.map.emplace();
  map.source = origin::describe(file.model->view());
  map.source.file = llvm::sys::path::filename(path).str();
  map.target = asTarget(map.source);
}

int tools::runJoin(origin::OriginFile &file, const JoinModeOptions &options) {
  llvm::Error error = joinProfile(file, options);
  return error ? fail(std::move(error)) : 0;
}

int tools::runCompare(const std::string &other, const JoinModeOptions &options) {
  llvm::Error error = compare(other, options);
  return error ? fail(std::move(error)) : 0;
}

std::string tools::joinHelp() {
  return "\nProfiles, in terms of the source:\n"
         "  origin-dump --join times.csv net.circle                    which row is which operator, from where\n"
         "  origin-dump --join times.csv --by=scope net.circle         the time of each scope of the source\n"
         "  origin-dump --join times.csv --json --source=net.tflite net.circle > a.json\n"
         "  origin-dump --join times.csv --by=operator --top=10 net.circle  the ten that cost most\n"
         "  origin-dump --compare a.json b.json                        two builds, by source operator\n"
         "  origin-dump --compare o1.circle int8.circle                two results: what became of each layer, and its "
         "bytes\n"
         "  origin-dump --compare --times=a.json,b.json --errors=ea.json,eb.json o1.circle int8.circle\n"
         "  origin-dump --compare --by=scope a.json b.json             the same, by the scopes of their names\n"
         "  origin-dump --join cycles.csv --kernels=kernels.json --clock=400 net.circle\n"
         "  origin-dump --join t.csv --columns=tensor=Layer,us=Duration net.circle\n"
         "\nFormats of profiles:\n" +
         profileFormatHelp();
}
