#include "report/infer/Infer.h"

#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Related.h"
#include "export/Writer.h"
#include "origin/codec/Json.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace origo::commands {

using namespace report;

namespace {

/// Finds the origins of a model that another program made and kept none of.
struct InferRequest {
  std::string source, output;
  bool json = false;
  unsigned seed = 1;
};

constexpr std::array inferRows{
    option<&InferRequest::source>("source", "MODEL", "What RESULT was made from"),
    option<&InferRequest::output>("o", "FILE", "Where the origin map goes (default: RESULT.origin.json)",
                                  {.writes = true}),
    option<&InferRequest::json>("json", "Print what was found as JSON"),
    option<&InferRequest::seed>("seed", "N", "The first of two seeds of random inputs (default: 1)"),
};

std::string count(const char *what, const InferCoverage::Count &count) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << count.related << " of " << count.all << ' ' << what << " related, " << count.proved << " proved, "
     << count.ambiguous << " ambiguous, " << count.unknown << " unknown";
  return text;
}

std::string sourceName(const origin::OriginMap &map, int32_t id) {
  const origin::SourceOperator *op = id < 0 ? nullptr : map.source.findOperator(static_cast<uint32_t>(id));
  if (!op)
    return "no operator of the source in particular";
  std::string text = "source operator " + std::to_string(id) + " (" + printable(op->op);
  if (std::string_view name = map.source.nameOf(*op); !name.empty())
    text += " \"" + printable(llvm::StringRef(name), 120) + '"';
  return text + ")";
}

void print(const Inferred &made) {
  const InferCoverage &coverage = made.coverage;
  llvm::outs() << count("operators", coverage.operators) << "; " << count("tensors", coverage.tensors) << "; "
               << count("constants", coverage.constants) << '\n';
  if (!made.first)
    return;
  llvm::outs() << "operator " << made.first->index << " is the first that " << made.first->why << ": it should be "
               << sourceName(made.map, made.first->sourceOperator);
  if (made.first->off > 0)
    llvm::outs() << ", and is off by " << llvm::format("%.3g", made.first->off) << " of "
                 << llvm::format("%.3g", made.first->range);
  llvm::outs() << '\n';
}

void printJson(const Inferred &made, const std::string &written) {
  auto json = [](const InferCoverage::Count &count) {
    return llvm::json::Object{{"all", static_cast<int64_t>(count.all)},
                              {"related", static_cast<int64_t>(count.related)},
                              {"proved", static_cast<int64_t>(count.proved)},
                              {"ambiguous", static_cast<int64_t>(count.ambiguous)},
                              {"unknown", static_cast<int64_t>(count.unknown)}};
  };
  llvm::json::Object told{{"operators", json(made.coverage.operators)}, {"tensors", json(made.coverage.tensors)},
                          {"constants", json(made.coverage.constants)}, {"whole", made.coverage.whole() && !made.first},
                          {"evidence", made.map.target.inferred},       {"map", llvm::json::fixUTF8(written)}};
  if (made.first)
    told["differs"] = llvm::json::Object{
        {"subgraph", made.first->subgraph}, {"operator", made.first->index}, {"source", made.first->sourceOperator},
        {"why", made.first->why},           {"off", made.first->off},        {"range", made.first->range}};
  JsonOutput() << llvm::json::Value(std::move(told)) << '\n';
}

llvm::Error inferOrigins(InferRequest &request, Words words, const Door &door, Verdict &verdict) {
  std::string model;
  if (llvm::Error error = takeModel(model, words))
    return error;
  if (request.source.empty())
    return makeError("needs " + door.spell("source") + "; --help shows examples");
  std::string output = request.output.empty() ? model + ".origin.json" : request.output;
  if (request.output.empty() && llvm::sys::fs::exists(output))
    return makeError(printable(output, 300) + " is there already; " + door.spell("o") + " tells where the map goes");
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
  InferOptions options;
  options.seeds = {request.seed, request.seed + 1};
  auto made = infer(*source, (*sourceFile)->view(), *result, (*resultFile)->view(), options);
  if (!made)
    return made.takeError();
  for (const std::string &text : made->notes)
    door.note(text);
  std::string text;
  llvm::raw_string_ostream os(text);
  origin::writeJson(made->map, os);
  if (llvm::Error error = writeFile(output, text))
    return error;
  if (request.json)
    printJson(*made, output);
  else
    print(*made);
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
    "  origin-dump --check --source net.tflite theirs.tflite       is it true?\n"
    "\nExit status: 0 all of it was found, 1 bad input or usage, or the two are not related, 2 a part was found, or "
    "an\n"
    "operator computes something else.\n",
    [] { return Options(inferRows); });

} // namespace origo::commands
