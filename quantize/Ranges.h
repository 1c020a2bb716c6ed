#pragma once

#include "ir/Model.h"

#include "llvm/ADT/DenseSet.h"

/// Quantisation parameters of tensors, changed as they are: no number of a tensor changes.
namespace origo::quantize {

/// Forgets all quantisation parameters of tensors of floats.
void clearParameters(Model &model);
/// Forgets minima and maxima.
void clearRanges(Model &model);

/// Results that follow from constants alone, which runs do not compute anew, so that no record shows them.
llvm::DenseSet<const Value *> computedFromConstants(const Model &model);

/// Gives a tensor one scale and zero point. An error: there is no such tensor, or several.
llvm::Error forceParameters(Model &model, llvm::StringRef tensor, float scale, int64_t zeroPoint);
/// Gives a tensor all parameters of another one.
llvm::Error copyParameters(Model &model, llvm::StringRef from, llvm::StringRef to);

} // namespace origo::quantize
