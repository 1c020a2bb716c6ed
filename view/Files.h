#pragma once

#include "view/Page.h"

/// Files that a page takes in besides models. They are untrusted; errors name the line or the key.
namespace origo::view {

/// What `circle2circle --history` wrote of the run from a source of so many operators and tensors to a model of so many
/// operators in each subgraph: JSON for the page.
llvm::Expected<std::string> readHistory(llvm::StringRef text, size_t sourceOperators, size_t sourceTensors,
                                        llvm::ArrayRef<size_t> resultOperators);

/// The key `errors` of what visq writes with --json: of tensors of the source, which `listing` lists. Keys that are not
/// known are passed over, and so is what says nothing of a tensor.
llvm::Expected<std::vector<TensorError>> readErrors(llvm::StringRef text, const origin::Listing &listing);

} // namespace origo::view
