#pragma once

#include "eval/Session.h"
#include "report/errors/Pairs.h"

/// The source's tensors as a run of the result has them, and the result with parts of the source in place of its own.
namespace origo::report {

/// `recovered`: the result has no counterpart, so the source's operators have computed it, from the nearest tensors
/// that have one. The tensor may be looked at only.
using SeeTensor =
    llvm::function_ref<void(const Value &source, unsigned time, const eval::Tensor &tensor, bool recovered)>;

/// Runs the result, and beside it a slice of the source: what has no counterpart is computed from the nearest tensors
/// that have one, in the state that those have in the result. Shows each tensor of numbers that is `wanted`, in the
/// source's order. `inputs` are the result's; sessions are of whole models. The outputs are the result's. `first` sees
/// what the result computes, and may change it; `ran` which operators of the source have run.
llvm::Expected<std::vector<eval::NamedTensor>> recover(const eval::Session &source, const eval::Session &result,
                                                       const Pairs &pairs, const std::string &signature,
                                                       const std::vector<eval::OwnedTensor> &inputs, SeeTensor see,
                                                       llvm::function_ref<bool(const Value &)> wanted,
                                                       eval::Observer first = {}, eval::Timer ran = {});

/// Source operators whose work the source does in a swapped run.
using Layers = std::set<const Operator *>;
/// With the layers that have to go with them: those behind, up to the first tensor that has a counterpart.
Layers closed(const Layers &layers, const Pairs &pairs);

/// Runs the result with these source layers, which are closed, in place of what became of them. Between two of them
/// numbers stay the source's; what others read is stored as the result stores it. The outputs are the result's.
llvm::Expected<std::vector<eval::NamedTensor>> runSwapped(const eval::Session &source, const eval::Session &result,
                                                          const Pairs &pairs, const std::string &signature,
                                                          const std::vector<eval::OwnedTensor> &inputs,
                                                          const Layers &layers);

} // namespace origo::report
