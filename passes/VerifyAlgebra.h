#pragma once

#include "eval/exact/Prove.h"
#include "passes/VerifyNumerics.h"

namespace origo {

/// What came of proving a run.
struct ProvedRun {
  eval::Proof proof; ///< of the whole run; nothing in it is different unless `wrong` says where that begins
  std::optional<WrongRewrite> wrong;
  std::map<const Pass *, unsigned> declared; ///< tensors that are others because these were asked to change them
};

/// Runs a pipeline as `run` says on the model that `load` gives, each time anew, and compares what comes out with what
/// the model was before, in exact arithmetic (docs/proof.md). Where something is different, it searches by halves for
/// the first rewrite after which it is.
llvm::Expected<ProvedRun> proveRewrites(llvm::function_ref<llvm::Expected<std::unique_ptr<Model>>()> load,
                                        const Pipeline &pipeline, PayloadStore &store, const PipelineOptions &run = {},
                                        const eval::ProveOptions &options = {});

} // namespace origo
