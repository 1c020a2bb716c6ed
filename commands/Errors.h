#pragma once

#include "eval/Parts.h"
#include "quantize/Calibrate.h"
#include "report/errors/Errors.h"
#include "report/errors/Print.h"

namespace origo::commands {

struct ErrorRecords {
  std::optional<uint64_t> most = {}; ///< only so many records
  eval::Shard shard = {};
  uint64_t withEffects = 0; ///< records that the effects of layers on the outputs are taken from
  /// Told of each of the latter.
  std::function<void(const std::string &signature, std::vector<eval::OwnedTensor> inputs)> onEffect = {};
  std::function<void(uint64_t done, uint64_t all)> progress = {}; ///< after each record
};

/// Runs both models on the records that `open` finds for each signature; their numbers.
llvm::Expected<std::vector<uint64_t>> runRecords(report::ErrorRun &run, quantize::OpenRecords open,
                                                 const ErrorRecords &options);

/// A report as a file, or a picture of it.
struct ErrorFile {
  std::string path;
  const report::ErrorMetric *metric;
  bool dot;
};

/// Writes all of them, or none.
llvm::Error writeErrorFiles(const report::ErrorReport &report, llvm::ArrayRef<ErrorFile> files);

} // namespace origo::commands
