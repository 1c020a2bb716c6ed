#include "report/infer/Infer.h"

#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Records.h"
#include "commands/Related.h"
#include "export/Writer.h"
#include "origin/codec/Json.h"
#include "origin/codec/OriginFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

namespace origo::commands {

using namespace report;

namespace {

/// Finds the origins of a model that another program made and kept none of.
struct InferRequest {
  std::string source, output, embed, earlier;
  std::vector<std::string> bound;
  RecordsRequest records;
  bool json = false;
  unsigned seed = 1;
};

constexpr std::array ownRows{
    option<&InferRequest::source>("source", "MODEL", "What RESULT was made from"),
    option<&InferRequest::output>("o", "FILE", "Where the origin map goes (default: RESULT.origin.json)",
                                  {.writes = true}),
    option<&InferRequest::embed>("embed", "OUT", "Write RESULT with the map inside", {.writes = true}),
    option<&InferRequest::earlier>("from", "MAP",
                                   "A map of RESULT before it was edited, or the file that has it: what still holds of "
                                   "it is kept"),
    option<&InferRequest::bound>("bind", "A=B", "Input A of the source is input B of RESULT; may be repeated"),
    option<&InferRequest::json>("json", "Print what was found as JSON"),
    option<&InferRequest::seed>("seed", "N", "The first of two seeds of random inputs (default: 1)"),
};
constexpr auto inferRows = joinRows(ownRows, recordRows<&InferRequest::records>);

void printJson(const Inferred &made, const std::string &written) {
  auto json = [](const InferCoverage::Count &count) {
    return llvm::json::Object{{"all", static_cast<int64_t>(count.all)},
                              {"related", static_cast<int64_t>(count.related)},
                              {"proved", static_cast<int64_t>(count.proved)},
                              {"ambiguous", static_cast<int64_t>(count.ambiguous)},
                              {"unknown", static_cast<int64_t>(count.unknown)}};
  };
  llvm::json::Object told{{"operators", json(made.coverage.operators)},
                          {"tensors", json(made.coverage.tensors)},
                          {"constants", json(made.coverage.constants)},
                          {"whole", made.coverage.whole() && !made.first},
                          {"kept", static_cast<int64_t>(made.coverage.kept)},
                          {"evidence", made.map.target.inferred},
                          {"map", llvm::json::fixUTF8(written)}};
  told["doubts"] = static_cast<int64_t>(made.coverage.doubts);
  llvm::json::Array notes;
  for (const std::string &note : made.notes)
    notes.push_back(llvm::json::fixUTF8(note));
  told["notes"] = std::move(notes);
  if (made.first)
    told["differs"] = llvm::json::Object{
        {"subgraph", made.first->subgraph}, {"operator", made.first->index}, {"source", made.first->sourceOperator},
        {"why", made.first->why},           {"off", made.first->off},        {"range", made.first->range}};
  JsonOutput() << llvm::json::Value(std::move(told)) << '\n';
}

/// The first records take the place of seeds, as many as there are.
void useRecords(const InferRequest &request, RecordsOpener &opener, InferOptions &options) {
  if (request.records.isRandom())
    return;
  options.evidence = "records 0 to " + std::to_string(options.seeds.size() - 1);
  options.inputs = [&opener](llvm::ArrayRef<eval::Port> ports, llvm::StringRef signature,
                             unsigned run) -> llvm::Expected<std::vector<eval::OwnedTensor>> {
    auto records = opener(ports, signature);
    if (!records)
      return records.takeError();
    if (run >= (*records)->count())
      return makeError("at least two records are needed: what the first one shows, the second one has to confirm");
    return (*records)->read(run);
  };
}

/// The map that a stale one is repaired from. It lives as long as `file`.
llvm::Error takeEarlier(const InferRequest &request, std::optional<origin::OriginFile> &file, const Door &door,
                        InferOptions &options) {
  if (request.earlier.empty())
    return llvm::Error::success();
  auto opened = origin::openOriginFile(request.earlier, /*mapPath=*/"", /*acceptStale=*/true);
  if (!opened)
    return opened.takeError();
  if (!opened->map)
    return makeError(door.spell("from") + ": " + printable(request.earlier, 300) + " has no origin map");
  for (const std::string &note : opened->notes)
    door.note(note);
  file = std::move(*opened);
  options.earlier = &*file->map;
  return llvm::Error::success();
}

llvm::Error takeBound(const InferRequest &request, const Door &door, InferOptions &options) {
  for (llvm::StringRef words : request.bound) {
    auto [from, to] = words.split('=');
    if (from.empty() || to.empty())
      return makeError(door.spell("bind") + ": \"" + printable(words) + "\" is not A=B");
    options.bound.emplace_back(from, to);
  }
  return llvm::Error::success();
}

/// RESULT once more, with its map inside.
llvm::Error embedMap(const std::string &model, const std::string &output, const origin::OriginMap &map) {
  ImportOptions from;
  from.map = std::make_shared<const origin::OriginMap>(map);
  auto imported = importModel(model, from);
  if (!imported)
    return imported.takeError();
  ExportOptions to;
  to.format = imported->model->format;
  return write(*imported, output, to);
}

/// Where what is found goes.
llvm::Error checkOutputs(InferRequest &request, const std::string &model, const Door &door) {
  if (request.source.empty())
    return makeError("needs " + door.spell("source") + "; --help shows examples");
  if (request.output.empty() && request.embed.empty()) {
    request.output = model + ".origin.json";
    if (llvm::sys::fs::exists(request.output))
      return makeError(printable(request.output, 300) + " is there already; " + door.spell("o") +
                       " tells where the map goes");
  }
  if (!request.embed.empty())
    if (llvm::Error error = checkOutput(request.embed, {FileKind::Circle, FileKind::Tflite}))
      return error;
  return checkRecords(request.records, door);
}

llvm::Error writeMap(const InferRequest &request, const std::string &model, const origin::OriginMap &map) {
  if (!request.embed.empty())
    if (llvm::Error error = embedMap(model, request.embed, map))
      return error;
  if (request.output.empty())
    return llvm::Error::success();
  std::string text;
  llvm::raw_string_ostream os(text);
  origin::writeJson(map, os);
  return writeFile(request.output, text);
}

llvm::Error inferOrigins(InferRequest &request, Words words, const Door &door, Verdict &verdict) {
  std::string model;
  if (llvm::Error error = takeModel(model, words))
    return error;
  if (llvm::Error error = checkOutputs(request, model, door))
    return error;
  InferOptions options;
  options.seeds = {request.seed, request.seed + 1};
  RecordsOpener opener(request.records, door);
  useRecords(request, opener, options);
  if (llvm::Error error = takeBound(request, door, options))
    return error;
  std::optional<origin::OriginFile> earlier;
  if (llvm::Error error = takeEarlier(request, earlier, door, options))
    return error;
  door.phase("reading");
  PayloadStore store;
  ImportOptions alone;
  alone.origin = OriginMode::Restart;
  auto source = load(request.source, alone, store, door);
  if (!source)
    return source.takeError();
  auto result = load(model, alone, store, door);
  if (!result)
    return result.takeError();
  auto sourceFile = openModelFile(request.source, door), resultFile = openModelFile(model, door);
  if (!sourceFile || !resultFile)
    return firstError(sourceFile, resultFile);
  door.phase("executing");
  auto made = infer(*source, (*sourceFile)->view(), *result, (*resultFile)->view(), options);
  if (!made)
    return made.takeError();
  for (const std::string &text : made->notes)
    door.note(text);
  if (options.earlier)
    door.note(std::to_string(made->coverage.kept) + " of " + std::to_string(made->coverage.operators.all) +
              " operators are what " + printable(request.earlier, 300) + " says of them");
  if (llvm::Error error = writeMap(request, model, made->map))
    return error;
  if (request.json)
    printJson(*made, request.output.empty() ? request.embed : request.output);
  else
    llvm::outs() << summaryOf(*made);
  verdict = made->coverage.whole() && !made->first ? Verdict::Holds : Verdict::Refused;
  return llvm::Error::success();
}

} // namespace

const Command inferCommand = makeCommand<inferOrigins>(
    "origin-infer", "RESULT",
    "Finds the origins of a model that another program made, and kept none of.\n\n"
    "RESULT and the model that it was made from are run on random inputs, and what an operator makes of the source's "
    "own\nnumbers is looked for in the source. Names count for nothing. The map goes beside RESULT, where all tools "
    "find it.\n\n"
    "  origin-infer --source net.tflite theirs.tflite              writes theirs.tflite.origin.json\n"
    "  origin-infer --source net.tflite -o map.json theirs.circle\n"
    "  origin-infer --source net.tflite --embed=known.circle theirs.circle   a file that carries its map\n"
    "  origin-infer --source net.tflite --data=records/ theirs.tflite        run on two of your own records\n"
    "  origin-infer --source net.tflite --from net.circle.origin.json -o map.json edited.circle   repairs a stale map\n"
    "  origin-dump --check --source net.tflite theirs.tflite       is it true?\n"
    "\nExit status: 0 all of it was found, 1 bad input or usage, or the two are not related, 2 a part was found, or "
    "an\n"
    "operator computes something else.\n",
    [] { return Options(inferRows); });

} // namespace origo::commands
