#pragma once

#include "commands/Door.h"
#include "commands/RunsInTurn.h"
#include "ir/Error.h"

#include "llvm/Support/raw_ostream.h"

/// What a model is, and what became of it, in words for people and as JSON: the closing lines of the front door.
namespace origo::commands {

struct PortFacts {
  std::string name, type; ///< as they are written: float32[1,224,224,3]
};

struct SignatureFacts {
  std::string key;
  std::vector<std::string> inputs, outputs; ///< as they are called
};

/// What is said of a file.
struct ModelFacts {
  std::string path, format;
  uint64_t bytes = 0; ///< of the file; 0 where it is none
  size_t operators = 0, subgraphs = 0;
  std::vector<std::pair<std::string, size_t>> kinds; ///< the most frequent first
  uint64_t parameters = 0, constantBytes = 0;
  uint64_t macs = 0, unknownMacs = 0; ///< of a run; operators whose share is not known
  uint64_t liveBytes = 0;             ///< activations alive at the same time, at most
  std::vector<PortFacts> inputs, outputs;
  std::vector<SignatureFacts> signatures;
  std::vector<std::pair<std::string, uint64_t>> metadata; ///< names and bytes
  std::vector<std::string> packed;                        ///< files in the archive behind the model
  std::vector<std::string> notes;                         ///< of who read it
  std::string source; ///< the file that it was made from; empty where it is its own source
  size_t sourceOperators = 0;
};

struct OutputDifference {
  std::string name;
  double greatest = 0, mean = 0; ///< absolute, of the real numbers that the outputs stand for
  double range = 0;              ///< from the least to the greatest number of the first model's output
};

/// How two models compute, side by side, on the same inputs.
struct RunFacts {
  std::string notRun; ///< why not; empty: they were run
  std::string inputs; ///< "3 records of DIR", "4 records of random numbers"
  uint64_t records = 0;
  RunsInTurn::Change time;   ///< of a run, one thread
  bool tellsTime = false;    ///< there were enough runs to tell noise from time
  double spread[2] = {0, 0}; ///< half of the runs of each lie within so many milliseconds
  std::vector<OutputDifference> differences;
};

llvm::Expected<ModelFacts> factsOf(const std::string &path, const Door &door);

/// A model that is ready to run.
class Runner {
public:
  static Runner open(const std::string &path, const Door &door);
  Runner(Runner &&) noexcept;
  ~Runner();
  struct Parts;

private:
  friend llvm::Expected<RunFacts> runBoth(Runner before, const std::string &after, const std::string &records,
                                          const Door &door);
  explicit Runner(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

/// Runs both on `records` (a path as circle-quantizer takes it; empty: random numbers). What cannot be compared is said
/// in `notRun`, for it is no mistake of the caller; an error is a mistake in `records`.
llvm::Expected<RunFacts> runBoth(const std::string &before, const std::string &after, const std::string &records,
                                 const Door &door);
/// The same with a model as it was when it was opened.
llvm::Expected<RunFacts> runBoth(Runner before, const std::string &after, const std::string &records, const Door &door);

void describe(const ModelFacts &facts, llvm::raw_ostream &os);
void describeJson(const ModelFacts &facts, llvm::raw_ostream &os);
/// To standard output, for people or as JSON. `runs`: null where nothing was to be run.
void printComparison(const ModelFacts &before, const ModelFacts &after, const RunFacts *runs, bool json);

} // namespace origo::commands
