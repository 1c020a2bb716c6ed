#pragma once

#include "passes/Pipeline.h"
#include "tools/Comparison.h"

#include <functional>

/// What each pass, or each rewrite, is worth.
namespace origo::tools {

/// Runs a pipeline on the input, writes what comes of it to `path`, and tells of each rewrite.
using MakeResult =
    std::function<llvm::Error(const Pipeline &pipeline, std::optional<uint32_t> fuel, const std::string &path,
                              std::function<void(const RewriteEvent &)> onRewrite)>;

enum class PriceOf { Pass, Rewrite };

/// A line for each pass that applied: the result beside what the pipeline makes without the pass. Or one for each of
/// the first 256 rewrites: the model after it beside the one before. Operators, bytes of constants, memory, time in
/// turn on the fast engine with its noise, and how far outputs are off, in parts of their range. `extension`: of models
/// that are tried.
llvm::Error tellPrices(const Pipeline &pipeline, PriceOf what, const MakeResult &make, const std::string &extension,
                       bool json, llvm::raw_ostream &os);

} // namespace origo::tools
