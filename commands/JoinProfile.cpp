#include "commands/JoinProfile.h"

#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Related.h"
#include "export/Writer.h"
#include "ir/OpenFile.h"
#include "origin/Fingerprint.h"
#include "report/join/Compare.h"
#include "report/join/Print.h"
#include "report/join/Results.h"
#include "report/profile/Layers.h"
#include "report/profile/Readers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

namespace origo::commands {

using namespace report;

namespace {

llvm::Expected<ProfileOptions> profileOptions(const JoinRequest &request) {
  ProfileOptions options;
  options.format = request.format;
  for (const std::string &column : request.columns) {
    auto [role, title] = llvm::StringRef(column).split('=');
    if (role.empty() || title.empty())
      return makeError("--columns: \"" + printable(column, 60) + "\" is not ROLE=TITLE");
    options.columns.emplace_back(role.str(), title.str());
  }
  return options;
}

llvm::Expected<Profile> openProfile(const JoinRequest &request, const std::string &path) {
  auto options = profileOptions(request);
  if (!options)
    return options.takeError();
  if (path != request.profile)
    options->format.clear(); // --format is about that one
  else if (!request.layers.empty())
    return readFile(request.layers, [&](llvm::StringRef trace) {
      return readFile(path, [&](llvm::StringRef samples) { return readPerfByLayers(samples, trace); });
    });
  return readFile(path, [&](llvm::StringRef bytes) { return readProfile(bytes, *options); });
}

llvm::Expected<decltype(JoinOptions::names)> readNames(llvm::StringRef text) {
  decltype(JoinOptions::names) names;
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

llvm::Error readClock(const JoinRequest &request, JoinOptions &options) {
  if (!request.clock)
    return llvm::Error::success();
  auto hertz = parseDecimal(*request.clock, 6);
  if (!hertz || !*hertz) {
    llvm::consumeError(hertz.takeError());
    return makeError("--clock: \"" + printable(*request.clock, 40) + "\" is not a number of MHz");
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

llvm::Expected<JoinOptions> optionsFor(const JoinRequest &request, const origin::Target &target,
                                       const origin::FileGraph *graph) {
  JoinOptions options;
  if (llvm::Error error = readClock(request, options))
    return error;
  if (!request.names.empty()) {
    auto names = readFile(request.names, readNames);
    if (!names)
      return names.takeError();
    options.names = std::move(*names);
  }
  if (!request.kernels.empty()) {
    auto kernels = readFile(request.kernels, [&](llvm::StringRef text) { return readKernels(text, target, graph); });
    if (!kernels)
      return kernels.takeError();
    options.kernels = std::move(*kernels);
  }
  if (!request.runtimeInfo.empty()) {
    auto partitions = readFile(request.runtimeInfo, readRuntimeInfo);
    if (!partitions)
      return partitions.takeError();
    options.partitions = std::move(*partitions);
  }
  return options;
}

/// The notes; and a profile of which nothing fits is refused.
llvm::Error tellAbout(const Join &join, const std::string &path, const Door &door) {
  if (join.foreign)
    return makeError(printable(path) + ": foreign profile: none of its rows is about an operator of this model" +
                     (join.notes.empty() ? "" : "; " + llvm::join(join.notes, "; ")));
  for (const std::string &text : join.notes)
    door.note(printable(path) + ": " + text);
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
llvm::Expected<Join> joinSource(const JoinContext &context, const origin::OriginMap &map,
                                const origin::FileGraph *source) {
  const JoinRequest &request = context.request;
  auto profile = openProfile(request, request.sourceProfile);
  if (!profile)
    return profile.takeError();
  origin::OriginMap ofSource;
  ofSource.source = map.source;
  ofSource.target = asTarget(map.source);
  JoinOptions options; // kernels and partitions are those of the written model
  options.map = &ofSource;
  if (llvm::Error error = readClock(request, options))
    return error;
  auto join = matchRows(std::move(*profile), ofSource.target, source, options);
  if (!join)
    return inFile(printable(request.sourceProfile), join.takeError());
  SplitWeights weights(SplitRule::Macs, ofSource, source, nullptr);
  if (llvm::Error error = divideTime(*join, ofSource, weights))
    return error;
  if (llvm::Error error = tellAbout(*join, request.sourceProfile, context.door))
    return error;
  return join;
}

llvm::Error writeTrace(const std::string &path, const Join &join, const MapNames &names) {
  return writeFile(path, [&](llvm::raw_ostream &os) {
    printJoinTrace(join, names, os);
    return llvm::Error::success();
  });
}

CompareOrder compareOrder(const JoinRequest &request) {
  switch (request.sort.value_or(JoinSort::Change)) {
  case JoinSort::Id:
    return CompareOrder::Id;
  case JoinSort::A:
    return CompareOrder::A;
  case JoinSort::B:
    return CompareOrder::B;
  case JoinSort::Change:
    break;
  }
  return CompareOrder::Change;
}
CompareFormat compareFormat(const JoinContext &context) {
  return context.json ? CompareFormat::Json : context.csv ? CompareFormat::Csv : CompareFormat::Table;
}
CompareBy compareBy(const JoinRequest &request) {
  return request.by == By::Scope  ? CompareBy::Scope
         : request.by == By::Line ? CompareBy::Line
         : request.by == By::File ? CompareBy::File
                                  : CompareBy::Operator;
}

/// Both files that an option names; nothing where it is not given.
template <class T>
llvm::Error readBoth(llvm::StringRef option, llvm::StringRef given, llvm::Expected<T> (*read)(llvm::StringRef),
                     std::optional<std::pair<T, T>> &both) {
  if (given.empty())
    return llvm::Error::success();
  auto [a, b] = given.split(',');
  if (a.empty() || b.empty())
    return makeError("--" + option + " takes two files: --" + option + "=a.json,b.json");
  auto first = readFile(a.str(), read);
  if (!first)
    return first.takeError();
  auto second = readFile(b.str(), read);
  if (!second)
    return second.takeError();
  both.emplace(std::move(*first), std::move(*second));
  return llvm::Error::success();
}

llvm::Error compareModels(const std::string &other, const JoinContext &context) {
  ResultFigures figures;
  if (llvm::Error error = readBoth("times", context.request.times, readJoinSummary, figures.times))
    return error;
  if (llvm::Error error = readBoth("errors", context.request.errors, readErrorSummary, figures.errors))
    return error;
  PayloadStore store;
  std::vector<ResultSummary> results;
  for (const std::string &path : {context.model, other}) {
    auto imported = load(path, {}, store, context.door);
    if (!imported)
      return imported.takeError();
    for (const std::string &text : imported->notes)
      context.door.note(text);
    results.push_back(summarize(*imported));
  }
  auto compared =
      compareResults(results[0], results[1], figures, compareBy(context.request), compareFormat(context),
                     {context.full, context.request.top.value_or(0), compareOrder(context.request)}, llvm::outs());
  if (!compared)
    return compared.takeError();
  if (!compared->empty())
    context.door.note(*compared);
  return llvm::Error::success();
}

} // namespace

std::vector<Choice> profileFormatChoices() {
  std::vector<Choice> choices;
  for (const ProfileFormat &format : profileFormats())
    choices.push_back({format.tool, format.help});
  return choices;
}

llvm::Error compareWith(const std::string &other, const JoinContext &context) {
  const JoinRequest &request = context.request;
  if (request.by == By::Row || request.by == By::Type || request.by == By::Pass)
    return makeError("--compare goes --by=operator (default), scope, line or file");
  auto first = openFile(context.model);
  if (!first)
    return first.takeError();
  if (!(*first)->getBuffer().ltrim().starts_with("{"))
    return compareModels(other, context);
  if (!request.times.empty() || !request.errors.empty())
    return makeError("--times and --errors go with --compare of two models");
  auto a = readFile(context.model, readJoinSummary);
  if (!a)
    return a.takeError();
  auto b = readFile(other, readJoinSummary);
  if (!b)
    return b.takeError();
  auto compared =
      compareJoins(*a, *b, compareBy(context.request), compareFormat(context),
                   {context.full, context.request.top.value_or(0), compareOrder(context.request)}, llvm::outs());
  if (!compared)
    return compared.takeError();
  if (!compared->empty())
    context.door.note(*compared);
  return llvm::Error::success();
}

llvm::Error joinProfile(origin::OriginFile &file, const JoinContext &context) {
  const JoinRequest &request = context.request;
  const Door &door = context.door;
  origin::OriginMap &map = *file.map;
  std::optional<origin::FileGraph> target, source;
  if (file.model)
    target.emplace(file.model->view());
  std::unique_ptr<origin::ModelFile> sourceModel;
  if (!context.source.empty()) {
    auto opened = openModelFile(context.source, door);
    if (!opened)
      return opened.takeError();
    sourceModel = std::move(*opened);
    origin::Listing listing = origin::describe(sourceModel->view());
    if (llvm::Error error = expectSource(context.source, context.model, map.source, listing))
      return error;
    source.emplace(sourceModel->view());
    if (!map.source.namesKnown) { // embedded with ids only, and no side file at hand
      std::string name = std::move(map.source.file);
      map.source = std::move(listing);
      map.source.file = std::move(name);
    }
  }
  if (request.sort == JoinSort::Change || request.sort == JoinSort::B)
    return makeError("--sort=change and --sort=b go with --compare");
  auto profile = openProfile(request, *request.profile);
  if (!profile)
    return profile.takeError();
  auto how = optionsFor(request, map.target, target ? &*target : nullptr);
  if (!how)
    return how.takeError();
  if (file.model &&
      llvm::any_of(profile->rows, [](const ProfileRow &row) { return !row.details().fingerprint.empty(); }))
    how->fileHash = origin::hex(llvm::SHA256::hash(file.model->bytes()));
  how->map = &map;
  auto join = matchRows(std::move(*profile), map.target, target ? &*target : nullptr, *how);
  if (!join)
    return inFile(printable(*request.profile), join.takeError());
  std::optional<Join> before;
  if (!request.sourceProfile.empty()) {
    auto joined = joinSource(context, map, source ? &*source : nullptr);
    if (!joined)
      return joined.takeError();
    before = std::move(*joined);
  }
  const SplitRule rule = request.split.value_or(SplitRule::Macs);
  SplitWeights weights(rule, map, source ? &*source : nullptr, target ? &*target : nullptr);
  if (rule == SplitRule::Measured) {
    if (!before)
      return makeError("--split=measured needs a profile of the source model: --source-profile=PROFILE");
    weights.measured = timeByOperator(*before);
  }
  if (llvm::Error error = divideTime(*join, map, weights))
    return error;
  if (llvm::Error error = tellAbout(*join, *request.profile, door))
    return error;
  if (size_t count = weights.estimated())
    door.note(llvm::Twine(count) + " source operators are weighed by a guess" +
              (rule == SplitRule::Measured ? ": they have no time in the profile of the source"
               : source                    ? ": their shapes are not known"
                                           : "; --source=MODEL has their shapes"));
  MapNames names(map);
  const Join *ofSource = before ? &*before : nullptr;
  if (!request.trace.empty())
    if (llvm::Error error = writeTrace(request.trace, *join, names))
      return error;
  JsonOutput json;
  const By by = request.by.value_or(By::Row);
  if (context.json)
    printJoinJson(*join, names, ofSource, json);
  else if (context.csv)
    printJoinCsv(*join, names, by, ofSource, llvm::outs());
  else
    printJoin(*join, names, by, ofSource, {context.full, request.top.value_or(0), request.sort == JoinSort::Id},
              llvm::outs());
  return llvm::Error::success();
}

origin::OriginMap ownSource(const origin::ModelFile &file, const std::string &path) {
  origin::OriginMap map;
  map.source = origin::describe(file.view());
  map.source.file = llvm::sys::path::filename(path).str();
  map.target = asTarget(map.source);
  return map;
}

} // namespace origo::commands
