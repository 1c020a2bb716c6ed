#pragma once

#include "eval/Session.h"
#include "report/errors/Pairs.h"

namespace origo::report {

/// What of the source has to run so that the tensors that are `wanted` are there, when all that has a counterpart is
/// given by a run of the result. It starts from the nearest of those and goes no further up: an operator whose results
/// are all given is not among those that compute. What is computed although it has a counterpart (its shape is not
/// known before the run, it is in a called subgraph, or the counterpart holds a part of it) is to be led by that.
llvm::Expected<eval::RunPart> sliceOf(const eval::Session &source, const eval::Session &result, const Pairs &pairs,
                                      const std::string &signature, llvm::function_ref<bool(const Value &)> wanted);

} // namespace origo::report
