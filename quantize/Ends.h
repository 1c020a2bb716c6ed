#pragma once

#include "ir/StoragePlan.h"

#include <functional>

namespace origo::quantize {

/// What the inputs and outputs of a model that is quantised are to be (typeOfEnd); none: they stay.
struct Ends {
  llvm::SmallVector<TensorType, 2> inputs, outputs;
};

/// Of types that somebody gives for ends: each has its own where there are as many, numbers that are no floats
/// included; else those that stand for real numbers have, and the last one is for the rest. `i` of all, `real` of
/// those.
inline TensorType typeOfEnd(llvm::ArrayRef<TensorType> types, size_t ends, size_t i, size_t real) {
  return types[std::min(types.size() == ends ? i : real, types.size() - 1)];
}

/// Whose inputs and outputs are those of the model: the first subgraph, and those of signatures that no operator calls,
/// for what is called is stored as who calls it has it.
llvm::SmallVector<Subgraph *, 2> endGraphs(Model &model);

/// Another form of the ends of the model, and of nothing else: an input that is quantised as soon as it is
/// read is found as it is read then, an output that is widened is left as it was, and integers of 8 bits with the zero
/// point 128 higher, or lower, are the same numbers with or without a sign. No data are needed, and no scale is made.
/// Linear. An error: an end that has no such form, with what stands in the way. `told` gets a line for each end that
/// changes.
std::function<llvm::Expected<StoragePlan>(Model &)> planEnds(Ends ends, std::vector<std::string> *told = nullptr);

} // namespace origo::quantize
