#pragma once

#include "quantize/Parts.h"
#include "quantize/Scheme.h"

namespace origo::quantize {

/// A recipe of Google's ai-edge-quantizer: a list of {"regex", "operation", "algorithm_key", "op_config"}, of which
/// newer ones call the first two "op_scope_regex" and "operations", a list. Each entry is for the operators of that
/// kind with a result that the expression is found in; instead of it, "layers" says which ones as Parts does. Later
/// entries win, and what an operator cannot take is left to the earlier ones. INPUT and OUTPUT stand for the ends of
/// the model. What no entry is about stays float. Expressions are Python's. Returns a line for each entry that cannot
/// be meant so, for it is about nothing. An error: what is not understood, or an algorithm that is not here.
llvm::Expected<std::vector<std::string>> readRecipe(llvm::StringRef json, const Model &model, Scheme &scheme,
                                                    const SourceLayers &sources = {});

} // namespace origo::quantize
