#pragma once

#include "report/profile/Profile.h"

namespace origo::report {

/// Samples of `perf script`, given to the operators that ran at their time, whatever code they share: those of a trace
/// that circle-interpreter --profile=FILE wrote. Both are in the time of CLOCK_MONOTONIC, perf's by -k CLOCK_MONOTONIC.
llvm::Expected<Profile> readPerfByLayers(llvm::StringRef samples, llvm::StringRef trace);

} // namespace origo::report
