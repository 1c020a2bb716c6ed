#pragma once

#include "quantize/Parts.h"
#include "quantize/Scheme.h"

namespace origo::quantize {

/// The layers of a config of ONE's tools: {"layers": [{"name" or "names", "dtype", "granularity"}, …], "alternate…"}.
/// Names are those of operators' results, or other words for parts of the model (quantize/Parts.h); the one of several
/// results stands for all. An error: what is not understood, or names no operator of the model.
llvm::Error readConfig(llvm::StringRef json, const Model &model, Scheme &scheme, const SourceLayers &sources = {});

/// The choice that ONE's names stand for: uint8 by layer or channel, int16 by channel. An error: another combination.
llvm::Expected<Scheme::Choice> oneChoice(llvm::StringRef type, llvm::StringRef granularity);

} // namespace origo::quantize
