#pragma once

#include "import/Import.h"
#include "passes/Pipeline.h"
#include "report/target/Target.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace origo::commands {

/// With it, what the target refuses in uint8 is int8 within, if anything is; whoever calls the model finds it as it
/// was.
void addSigning(Pipeline &pipeline, std::shared_ptr<const report::Target> target);

/// What mends a refusal: the passes of -O2 behind which the target takes what became of the operator, and the option
/// that they need; empty: none is known. By subgraph and position.
using Mendings = std::map<std::pair<unsigned, unsigned>, std::string>;
/// Rewrites the model in memory to see, each time that `load` gives it.
llvm::Expected<Mendings> mendings(llvm::function_ref<llvm::Expected<Imported>(PayloadStore &)> load,
                                  const report::Target &target);

} // namespace origo::commands
