#pragma once

#include "commands/Quantize.h"

namespace origo::commands {

/// The options of the quantiser that are best for a model, by what its results are off on records that calibration does
/// not see: every fifth. Those that the request has stay; where nothing gains, the request is what it was. Each option
/// is tried beside what was found best by then, and is kept if it takes at least a hundredth off the error. An error:
/// there are fewer than five records, or the model has several signatures.
llvm::Expected<QuantizeRequest> chooseBest(const QuantizeRequest &request, const Door &door);

} // namespace origo::commands
