#include "commands/Command.h"
#include "commands/Divide.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Mending.h"
#include "commands/Targets.h"
#include "ir/OpenFile.h"
#include "origin/codec/Json.h"
#include "report/Columns.h"
#include "report/origin/Words.h"
#include "report/target/Prediction.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using namespace report;

namespace {

/// Tells whether a back end can take a model, before there are weights.
struct CheckRequest {
  std::string target, webnn, limitsOf;
  bool json = false, partition = false, listTargets = false, mends = false;
  std::string folder = ".", fallback = "cpu", originMap;
};

constexpr std::array checkRows{
    option<&CheckRequest::target>("target", "NAME|FILE",
                                  "What the back end can take: one of --list-targets, or a description in a file"),
    option<&CheckRequest::listTargets>("list-targets", "Print the back ends that are known by name, and stop"),
    option<&CheckRequest::json>("json", "Print {\"supported\", \"violations\", \"partition\"}"),
    option<&CheckRequest::mends>(
        "mends", "Say for each refusal which rewrites of circle2circle -O2 would mend it (needs weights)"),
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
  if (request.webnn.empty())
    return loadTarget(request.target);
  std::vector<std::string> notes;
  auto target = readFile(request.webnn, [&](llvm::StringRef text) { return readWebnn(text, notes); });
  if (!target)
    return target.takeError();
  llvm::for_each(notes, note);
  if (target->name.empty())
    target->name = llvm::sys::path::stem(request.webnn).str();
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

std::string mendingText(const Violation &violation, const Mendings &mendings) {
  auto found = violation.op ? mendings.find({violation.subgraph, violation.op->index}) : mendings.end();
  return found == mendings.end() || found->second.empty() ? "none known" : found->second;
}

/// `mended`: by what, null where nobody asked.
void printViolations(llvm::ArrayRef<Violation> violations, const origin::Lineage &lineage, const Mendings *mended) {
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
    Cells cells = {
        place,  v.op ? v.op->opName() : "", printable(v.operand), tensor, v.rule, cut(v.expected), cut(v.actual),
        origins};
    if (mended)
      cells.push_back(mendingText(v, *mended));
    return cells;
  };
  Cells head = {"place", "operator", "operand", "tensor", "limit", "expected", "actual", "from"};
  if (mended)
    head.push_back("mended by");
  printColumns(head, violations.size(), row, llvm::outs());
}

llvm::Error checkModel(CheckRequest &request, Words words, const Door &door, Verdict &verdict) {
  if (request.listTargets)
    return listTargets(llvm::outs());
  if (!request.limitsOf.empty()) {
    if (request.limitsOf != "eval")
      return makeError(door.spell("limits-of") + " knows \"eval\", our own interpreter, and nothing else");
    llvm::outs() << writeTarget(opSupportLimits());
    return llvm::Error::success();
  }
  if (request.target.empty() == request.webnn.empty())
    return makeError("which target? Say " + door.spell("target") + " NAME or a file, or " + door.spell("import-webnn") +
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
  Prediction prediction = predict(*imported->model, *target);
  std::optional<Mendings> mended;
  if (request.mends) {
    options->payloads = true;
    auto found = mendings([&](PayloadStore &own) { return load(model, *options, own, door); }, *target);
    if (!found)
      return inFile(model, found.takeError());
    mended = std::move(*found);
    for (Violation &violation : violations)
      violation.mendedBy = mendingText(violation, *mended);
  }
  if (request.json) {
    JsonOutput() << predictionJson(violations, prediction);
  } else {
    if (violations.empty())
      llvm::outs() << "supported\n";
    else
      printViolations(violations, imported->lineage, mended ? &*mended : nullptr);
    llvm::outs() << printable(target->name) << ": " << predictionText(prediction) << '\n';
  }
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
    "  circle-check --target xnnpack-2.9 net.tflite        a back end that is known by name\n"
    "  circle-check --target xnnpack-2.9 --mends net.tflite  and which rewrites would help\n"
    "  circle-check --list-targets\n"
    "  circle-check --import-webnn limits.json net.tflite  against what a browser says it can do\n"
    "  circle-check --import-webnn limits.json > webnn.json\n"
    "  circle-check --target npu.json --partition --work_path parts net.circle\n"
    "  circle-check --limits-of eval > eval.json\n"
    "\nExit status: 0 supported, 1 bad input or usage, 2 not supported.\n",
    [] { return Options(checkRows); });

} // namespace origo::commands
