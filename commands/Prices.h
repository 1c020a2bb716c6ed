#pragma once

#include "commands/Optimize.h"

/// What each pass, or each rewrite, is worth.
namespace origo::commands {

/// A line for each pass that applied: the result beside what the pipeline makes without the pass. Or one for each of
/// the first 256 rewrites: the model after it beside the one before. Operators, bytes of constants, memory, time in
/// turn on the fast engine with its noise, and how far outputs are off, in parts of their range.
llvm::Error tellPrices(const Job &job, llvm::raw_ostream &os);

} // namespace origo::commands
