#pragma once

#include "report/target/Target.h"

#include "llvm/Support/raw_ostream.h"

namespace origo::commands {

/// A back end by the name of one that comes with the program, or else from a file. It has a name.
llvm::Expected<report::Target> loadTarget(const std::string &nameOrFile);
/// Those that come with the program, with where their limits stand.
llvm::Error listTargets(llvm::raw_ostream &os);

} // namespace origo::commands
