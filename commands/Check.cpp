#include "commands/Command.h"
#include "commands/Divide.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "ir/OpenFile.h"
#include "origin/codec/Json.h"
#include "report/Columns.h"
#include "report/origin/Words.h"
#include "report/target/Target.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using namespace report;

namespace {

/// Tells whether a back end can take a model, before there are weights.
struct CheckRequest {
  std::string target, webnn, limitsOf;
  bool json = false, partition = false;
  std::string folder = ".", fallback = "cpu", originMap;
};

constexpr std::array checkRows{
    option<&CheckRequest::target>("target", "T.json", "What the back end can take"),
    option<&CheckRequest::json>("json", "Print {\"supported\", \"violations\"}"),
    option<&CheckRequest::webnn>("import-webnn", "DUMP.json",
                                 "Read a dump of WebNN's MLContext.opSupportLimits() as the target; without MODEL, "
                                 "print it as a target description"),
    option<&CheckRequest::limitsOf>("limits-of", "eval", "Print the limits of our own interpreter, circle-interpreter"),
    option<&CheckRequest::partition>("partition",
                                     "Divide MODEL between the target and another back end, and write the parts and "
                                     "the files of circle-partitioner: NAME.part, NAME.conn.ini, NAME.conn.json"),
    option<&CheckRequest::folder>("work_path", "DIR", "Where --partition writes (default: the current directory)"),
    option<&CheckRequest::fallback>("default", "NAME",
                                    "With --partition: the back end that takes the rest (default: cpu)"),
    option<&CheckRequest::originMap>(
        "origin-map", "FILE", "Side file of a MODEL that carries no map (default: MODEL.origin.json, if there is one)"),
};

llvm::Expected<Target> readTargetFile(const CheckRequest &request, llvm::function_ref<void(std::string)> note) {
  const std::string &path = request.webnn.empty() ? request.target : request.webnn;
  std::vector<std::string> notes;
  auto target = readFile(
      path, [&](llvm::StringRef text) { return request.webnn.empty() ? readTarget(text) : readWebnn(text, notes); });
  if (!target)
    return target.takeError();
  llvm::for_each(notes, note);
  if (target->name.empty())
    target->name = llvm::sys::path::stem(path).str();
  return target;
}

llvm::Expected<ImportOptions> importOptions(llvm::StringRef path, const std::string &originMap) {
  ImportOptions options;
  std::string side = originMap.empty() ? (path + ".origin.json").str() : originMap;
  if (!originMap.empty() || llvm::sys::fs::exists(side)) {
    auto map = readFile(side, origin::readJson);
    if (!map)
      return map.takeError();
    options.map = std::make_shared<const origin::OriginMap>(std::move(*map));
  }
  return options;
}

/// JSON in ASCII needs no escapes on a terminal, but may be long.
std::string cut(const std::string &text) { return text.size() <= 60 ? text : text.substr(0, 57) + "..."; }

void printViolations(llvm::ArrayRef<Violation> violations, const origin::Lineage &lineage) {
  origin::OriginMap map;
  map.source = *lineage.source;
  MapNames names(map);
  auto row = [&](size_t i) -> Cells {
    const Violation &v = violations[i];
    std::string origins;
    if (!v.origins.empty())
      if (const origin::SourceOperator *first = names.sourceOperator(v.origins[0]))
        origins = std::to_string(v.origins[0]) + " " + names.kind(first->op, first->customCode) + " " +
                  printable(names.nameOf(*first), 60);
    if (v.origins.size() > 1)
      origins += " and " + std::to_string(v.origins.size() - 1) + " more";
    std::string place = std::to_string(v.subgraph) + (v.op ? ":" + std::to_string(v.op->index) : "");
    std::string tensor = v.tensor ? std::to_string(v.tensor->index) + " \"" + printable(v.tensor->name, 40) + '"' : "";
    return {place,  v.op ? v.op->opName() : "", printable(v.operand), tensor, v.rule, cut(v.expected), cut(v.actual),
            origins};
  };
  printColumns({"place", "operator", "operand", "tensor", "limit", "expected", "actual", "from"}, violations.size(),
               row, llvm::outs());
}

llvm::Error checkModel(CheckRequest &request, Words words, const Door &door, Verdict &verdict) {
  if (!request.limitsOf.empty()) {
    if (request.limitsOf != "eval")
      return makeError(door.spell("limits-of") + " knows \"eval\", our own interpreter, and nothing else");
    llvm::outs() << writeTarget(opSupportLimits());
    return llvm::Error::success();
  }
  if (request.target.empty() == request.webnn.empty())
    return makeError("which target? Say " + door.spell("target") + " T.json or " + door.spell("import-webnn") +
                     " DUMP.json; --help shows examples");
  llvm::Expected<Target> target = readTargetFile(request, [&](const std::string &text) {
    if (words.empty())
      door.note(text);
  });
  if (!target)
    return target.takeError();
  if (words.empty() && !request.webnn.empty()) {
    llvm::outs() << writeTarget(*target);
    return llvm::Error::success();
  }
  std::string model;
  if (llvm::Error error = takeModel(model, words))
    return error;
  llvm::Expected<ImportOptions> options = importOptions(model, request.originMap);
  if (!options)
    return options.takeError();
  PayloadStore store;
  options->payloads = false;
  llvm::Expected<Imported> imported = load(model, *options, store, door);
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    door.note(text);
  std::vector<Violation> violations = checkTarget(*imported->model, *target);
  if (request.partition) {
    options->payloads = true; // parts have them
    if (llvm::Error error = divide(model, *options, *target, request.fallback, request.folder, door))
      return error;
  }
  if (request.json)
    JsonOutput() << violationsJson(violations);
  else if (violations.empty())
    llvm::outs() << "supported\n";
  else
    printViolations(violations, imported->lineage);
  verdict = violations.empty() ? Verdict::Holds : Verdict::Refused;
  return llvm::Error::success();
}

} // namespace

const Command checkCommand = makeCommand<checkModel>(
    "circle-check", "MODEL",
    "Tells whether a back end can take a model, operand by operand.\n\n"
    "No weights are needed: they may be cut off, or lie outside the file. How a target is described: "
    "docs/targets.md.\n\n"
    "  circle-check --target npu.json net.circle           a table of what stands in the way\n"
    "  circle-check --target npu.json --json net.circle\n"
    "  circle-check --import-webnn limits.json net.tflite  against what a browser says it can do\n"
    "  circle-check --import-webnn limits.json > webnn.json\n"
    "  circle-check --target npu.json --partition --work_path parts net.circle\n"
    "  circle-check --limits-of eval > eval.json\n"
    "\nExit status: 0 supported, 1 bad input or usage, 2 not supported.\n",
    [] { return Options(checkRows); });

} // namespace origo::commands
