#pragma once

#include "eval/Baseline.h"
#include "passes/Pipeline.h"

namespace origo {

/// A rewrite after which a tensor does not hold any more what it should.
struct WrongRewrite {
  uint32_t number;
  std::string text; ///< the rewrite; then the tensor and how it deviates
};

/// Told of what deviates because a pass was asked to change it.
using OnDeclared = std::function<void(const Pass &, const eval::Deviation &)>;

/// Runs a pipeline as `run` says on the model that `load` gives, each time anew, and compares what comes out with what
/// the model computed before, for random inputs or those of `given`. Where something deviates, it searches by halves
/// for the first rewrite after which it does. None: nothing deviates. An error: there was nothing to be compared.
llvm::Expected<std::optional<WrongRewrite>>
findWrongRewrite(llvm::function_ref<llvm::Expected<std::unique_ptr<Model>>()> load, const Pipeline &pipeline,
                 PayloadStore &store, const PipelineOptions &run = {}, eval::Baseline::Given given = nullptr,
                 OnDeclared onDeclared = nullptr);

} // namespace origo
