#pragma once

#include "commands/Command.h"
#include "commands/Records.h"
#include "import/Import.h"

namespace origo::commands {

/// Runs a model on records, and notes how far the numbers of each tensor go.
struct RecordRequest {
  std::string input, output; ///< no output: statistics are all that is wanted
  RecordsRequest records;    ///< none: random numbers
  quantize::Summary summary;
  unsigned bits = 8;                 ///< of what is to come
  Repeated<std::string> calibrators; ///< [TENSOR=]METHOD
  bool histograms = false;
  unsigned threads = 1;
  eval::Engine engine = eval::Engine::Fast;
  std::string statisticsFile; ///< is written
  std::string shard = "1/1";
  std::vector<std::string> merge; ///< instead of running the model
  bool verbose = false, profileData = false;

  bool tries() const { return llvm::is_contained(calibrators, "auto"); }
};

llvm::Error check(const RecordRequest &request, const Door &door);
/// Gives the tensors of the model their ranges, as check() allows it.
llvm::Error run(const RecordRequest &request, Imported &imported, const Door &door);

} // namespace origo::commands
