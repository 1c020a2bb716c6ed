/// Tells whether a back end can take a model, before there are weights.

#include "ir/OpenFile.h"
#include "origin/codec/Json.h"
#include "report/Columns.h"
#include "report/origin/Words.h"
#include "report/target/Target.h"
#include "commands/Divide.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace origo;
using namespace origo::tools;
using namespace origo::report;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::list<std::string> arguments(cl::Positional, cl::desc("MODEL"), cl::cat(category));
cl::opt<std::string> targetPath("target", cl::value_desc("T.json"), cl::desc("What the back end can take"),
                                cl::cat(category));
cl::opt<bool> json("json", cl::desc("Print {\"supported\", \"violations\"}"), cl::cat(category));
cl::opt<std::string> webnnPath("import-webnn", cl::value_desc("DUMP.json"),
                               cl::desc("Read a dump of WebNN's MLContext.opSupportLimits() as the target; without "
                                        "MODEL, print it as a target description"),
                               cl::cat(category));
cl::opt<std::string> limitsOf("limits-of", cl::value_desc("eval"),
                              cl::desc("Print the limits of our own interpreter, circle-interpreter"),
                              cl::cat(category));
cl::opt<bool> partition("partition",
                        cl::desc("Divide MODEL between the target and another back end, and write the parts and the "
                                 "files of circle-partitioner: NAME.part, NAME.conn.ini, NAME.conn.json"),
                        cl::cat(category));
cl::opt<std::string> workPath("work_path", cl::init("."), cl::value_desc("DIR"),
                              cl::desc("Where --partition writes (default: the current directory)"), cl::cat(category));
cl::opt<std::string> fallback("default", cl::init("cpu"), cl::value_desc("NAME"),
                              cl::desc("With --partition: the back end that takes the rest (default: cpu)"),
                              cl::cat(category));
cl::opt<std::string> originMap("origin-map", cl::value_desc("FILE"),
                               cl::desc("Side file of a MODEL that carries no map (default: MODEL.origin.json, if "
                                        "there is one)"),
                               cl::cat(category));
cl::extrahelp examples("\nNo weights are needed: they may be cut off, or lie outside the file. How a target is "
                       "described: docs/targets.md.\n"
                       "\nExamples:\n"
                       "  circle-check --target npu.json net.circle           a table of what stands in the way\n"
                       "  circle-check --target npu.json --json net.circle\n"
                       "  circle-check --import-webnn limits.json net.tflite  against what a browser says it can do\n"
                       "  circle-check --import-webnn limits.json > webnn.json\n"
                       "  circle-check --target npu.json --partition --work_path parts net.circle\n"
                       "  circle-check --limits-of eval > eval.json\n"
                       "\nExit status: 0 supported, 1 bad input or usage, 2 not supported.\n");

llvm::Expected<Target> readTargetFile() {
  const std::string &path = webnnPath.empty() ? targetPath : webnnPath;
  std::vector<std::string> notes;
  auto target = readFile(path, [&](llvm::StringRef text) { return webnnPath.empty() ? readTarget(text) : readWebnn(text, notes); });
  if (!target)
    return target.takeError();
  if (arguments.empty())
    for (const std::string &text : notes)
      note(text);
  if (target->name.empty())
    target->name = llvm::sys::path::stem(path).str();
  return target;
}

llvm::Expected<ImportOptions> importOptions(llvm::StringRef path) {
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

int run() {
  if (limitsOf.getNumOccurrences()) {
    if (limitsOf != "eval")
      return fail("--limits-of knows \"eval\", our own interpreter, and nothing else");
    llvm::outs() << writeTarget(opSupportLimits());
    return 0;
  }
  if (targetPath.empty() == webnnPath.empty())
    return fail("which target? Say --target T.json or --import-webnn DUMP.json; --help shows examples");
  llvm::Expected<Target> target = readTargetFile();
  if (!target)
    return fail(target.takeError());
  if (arguments.empty() && !webnnPath.empty()) {
    llvm::outs() << writeTarget(*target);
    return 0;
  }
  if (arguments.size() != 1)
    return fail("one MODEL, please; --help shows examples");
  llvm::Expected<ImportOptions> options = importOptions(arguments[0]);
  if (!options)
    return fail(options.takeError());
  PayloadStore store;
  options->payloads = false;
  llvm::Expected<Imported> imported = load(arguments[0], *options, store);
  if (!imported)
    return fail(imported.takeError());
  for (const std::string &text : imported->notes)
    note(text);
  std::vector<Violation> violations = checkTarget(*imported->model, *target);
  if (partition) {
    options->payloads = true; // parts have them
    if (llvm::Error error = commands::divide(arguments[0], *options, *target, fallback, workPath, door()))
      return fail(std::move(error));
  }
  if (json)
    JsonOutput() << violationsJson(violations);
  else if (violations.empty())
    llvm::outs() << "supported\n";
  else
    printViolations(violations, imported->lineage);
  return violations.empty() ? 0 : 2;
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "circle-check", {&category},
                     "Tells whether a back end can take a model, operand by operand.\n", run);
}
