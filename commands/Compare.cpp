#include "commands/Agreement.h"
#include "commands/Command.h"
#include "commands/Comparison.h"

namespace origo::commands {

namespace {

/// Compares two models side by side.
struct CompareRequest {
  std::optional<AgreementBy> by;
  std::string data;
  bool noRun = false, json = false;
};

constexpr std::array compareRows{
    option<&CompareRequest::by>("by", "WHAT", "Tell which layers compute the same numbers, and which part first:"),
    option<&CompareRequest::data>("data", "PATH", "Records to run the two on, as circle-quantizer takes them"),
    option<&CompareRequest::noRun>("no-run", "Do not run the two models"),
    option<&CompareRequest::json>("json", "Print JSON"),
};

llvm::Error compareModels(CompareRequest &request, Words words, const Door &door, Verdict &) {
  if (words.size() != 2)
    return makeError("needs two models; --help shows examples");
  if (request.by && request.noRun)
    return makeError(door.spell("by") + " runs the two models, and " + door.spell("no-run") + " does not");
  if (request.by)
    return compareLayers(words[0], words[1], request.data, *request.by, request.json, door);
  auto first = factsOf(words[0], door), second = factsOf(words[1], door);
  if (!first || !second)
    return firstError(first, second);
  std::optional<RunFacts> runs;
  if (!request.noRun) {
    auto both = runBoth(words[0], words[1], request.data, door);
    if (!both)
      return both.takeError();
    runs = std::move(*both);
  }
  door.phase(nullptr);
  printComparison(*first, *second, runs ? &*runs : nullptr, request.json);
  return llvm::Error::success();
}

} // namespace

const Command compareCommand = makeCommand<compareModels>(
    "origin-diff", "A B",
    "Compares two models side by side, running them too.\n\n"
    "  origin-diff net.tflite net.int8.tflite\n"
    "  origin-diff --data images.npy net.tflite net.int8.tflite\n"
    "  origin-diff --no-run --json a.circle b.circle\n"
    "  origin-diff --by=scope theirs.tflite ours.circle     which layers agree, whoever converted them?\n",
    [] { return Options(compareRows); });

} // namespace origo::commands
