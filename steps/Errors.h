#pragma once

#include "quantize/Records.h"
#include "report/errors/Errors.h"

namespace origo::steps {

struct ErrorRecords {
  std::optional<uint64_t> most = {}; ///< only so many records
  uint64_t withEffects = 0;          ///< records that the effects of layers on the outputs are taken from
  /// Told of each of the latter.
  std::function<void(const std::string &signature, std::vector<eval::OwnedTensor> inputs)> onEffect = {};
};

/// Runs both models on the records that `open` finds for each signature; how many there were.
llvm::Expected<uint64_t>
runRecords(report::ErrorRun &run,
           llvm::function_ref<llvm::Expected<std::unique_ptr<quantize::Records>>(llvm::ArrayRef<eval::Port>)> open,
           const ErrorRecords &options);

} // namespace origo::steps
