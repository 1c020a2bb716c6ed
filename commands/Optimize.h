#pragma once

#include "passes/Pipeline.h"

namespace origo::commands {

/// The passes of a level, '0' or '1'.
llvm::Expected<Pipeline> levelPipeline(char level);
/// Passes by their names.
llvm::Error addPasses(Pipeline &pipeline, const std::vector<std::string> &names);
llvm::Error removePasses(Pipeline &pipeline, const std::vector<std::string> &names);

/// Models compiled for an accelerator hold its code: what is around it must stay as it was compiled, so no pass is run.
bool isCompiled(const Model &model);

} // namespace origo::commands
