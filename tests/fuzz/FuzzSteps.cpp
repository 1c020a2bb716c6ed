#include "commands/Files.h"
#include "export/Export.h"
#include "import/Import.h"
#include "ir/text/Text.h"
#include "passes/Pipeline.h"
#include "tests/MapRows.h"
#include "tests/fuzz/FuzzChecks.h"

#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::fuzz;

namespace {

/// Several runs of passes that the seed chooses. They stop after some rewrites, and go on from a file or without one:
/// the rewrites are the same then, and so is the map.
class StepsCheck {
public:
  StepsCheck(llvm::StringRef text, uint64_t seed, llvm::StringRef directory)
      : text(text), seed(seed), directory(directory) {}

  std::string run() {
    for (auto [number, step] : llvm::enumerate(steps))
      for (const Pass &pass : allPasses())
        if (!pass.changesResults && draws(seed, number + 1, pass, 4))
          step.add(pass);
    std::string finding = find();
    if (finding.empty())
      return "";
    // Few passes say more than a hundred: those without which there is nothing to find.
    for (Pipeline &step : steps)
      for (size_t i = step.entries.size(); i-- > 0;) {
        Pipeline all = step;
        step.entries.erase(step.entries.begin() + i);
        if (std::string same = find(); same.empty())
          step = std::move(all);
        else
          finding = std::move(same);
      }
    for (const Pipeline &step : steps)
      if (!step.entries.empty())
        finding += ", " + wordsOf(step);
    return finding;
  }

private:
  std::string find() {
    chosen = seed;
    cuts = {};
    if (std::string finding = take(false, whole); !finding.empty() || rewrites < 2)
      return finding;
    for (uint32_t &cut : cuts)
      cut = 1 + next() % (rewrites - 1);
    llvm::sort(cuts);
    for (auto [file, map] : {std::pair(false, &whole), std::pair(true, &divided)})
      if (std::string finding = take(file, *map); !finding.empty())
        return finding;
    return whole == divided ? ""
                            : "with" + places() + " the map is another one:\n" +
                                  test::differenceOf(test::linesOf(whole), test::linesOf(divided));
  }

  llvm::StringRef text;
  uint64_t seed, chosen = 0;
  llvm::StringRef directory;
  std::array<Pipeline, 5> steps;
  std::array<uint32_t, 3> cuts{}; ///< the numbers of rewrites; 0: no such place
  uint32_t rewrites = 0;
  std::string whole, divided; ///< maps

  uint64_t next() { return (chosen = chosen * 6364136223846793005 + 1442695040888963407) >> 33; }

  llvm::Error throughFile(Imported &state, uint32_t number) {
    const std::string path = (directory + "/step" + llvm::Twine(number) + ".circle").str(); // the one before is open
    if (llvm::Error error = exportModel(*state.model, state.lineage, path, {}))
      return error;
    auto again = importModel(path);
    if (!again)
      return again.takeError();
    state = std::move(*again);
    return llvm::Error::success();
  }

  std::string take(bool file, std::string &map) {
    PayloadStore store;
    auto model = parseText(text, "", store);
    auto loaded = model ? commands::asOwnSource(std::move(*model)) : model.takeError();
    if (!loaded)
      return "the text is refused: " + llvm::toString(loaded.takeError());
    Imported state = std::move(*loaded);
    const std::string source = (directory + "/source.circle").str(), end = (directory + "/end.circle").str();
    if (llvm::Error error = exportModel(*state.model, state.lineage, source, {}))
      return "the source cannot be written: " + llvm::toString(std::move(error));
    uint32_t before = 0; // rewrites of runs that ended in a file
    auto rest = llvm::ArrayRef(cuts).drop_while([](uint32_t cut) { return cut == 0; });
    for (const Pipeline &step : steps)
      for (bool stopped = true; stopped;) {
        PipelineOptions options;
        if (!rest.empty())
          options.fuel = rest.front() - before;
        if (llvm::Error error = runPipeline(*state.model, step, store, options))
          return "a step fails: " + llvm::toString(std::move(error));
        const uint32_t done = before + state.model->rewrites;
        stopped = !rest.empty() && done >= rest.front();
        rest = rest.drop_while([&](uint32_t cut) { return done >= cut; });
        if (!stopped || !file)
          continue;
        before = done;
        if (llvm::Error error = throughFile(state, before))
          return "no file after " + std::to_string(before) + " rewrites: " + llvm::toString(std::move(error));
      }
    rewrites = before + state.model->rewrites;
    if (llvm::Error error = exportModel(*state.model, state.lineage, end, {}))
      return "the end cannot be written: " + llvm::toString(std::move(error));
    if (std::string broken = checkLaws(end, source); !broken.empty())
      return "after five runs" + (file ? " with" + places() : "") + ", " + broken;
    auto result = originMapOf(*state.model, state.lineage, Format::Circle);
    if (!result)
      return llvm::toString(result.takeError());
    map = test::coreOf(std::move(*result));
    return "";
  }

  std::string places() const {
    std::string where = " files after the rewrites";
    for (uint32_t cut : cuts)
      where += " " + std::to_string(cut);
    return where;
  }
};

} // namespace

std::string fuzz::checkSteps(llvm::StringRef text, uint64_t seed, llvm::StringRef directory) {
  return StepsCheck(text, seed, directory).run();
}
