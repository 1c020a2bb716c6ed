#pragma once

#include "quantize/Calibrate.h"

namespace origo::quantize {

/// Tries the calibrators on each tensor: on a few records its elements are rounded to the range that each one gives,
/// and the operators that read it computed anew. The one after which their results are least off (mean over operators
/// and records of the squares, in parts of the squares of the results) is taken; the earlier one of equal ones. A
/// tensor that no such operator reads gets the one that makes the least error in itself. `base` is what they all share;
/// `statistics` have histograms. Operators are computed by the reference kernels, one by one, so the time is linear in
/// the model, and memory is the live set twice.
llvm::Expected<Summaries> chooseSummaries(Model &model, const Statistics &statistics, const Summary &base,
                                          OpenRecords open, const CalibrateOptions &options);

} // namespace origo::quantize
