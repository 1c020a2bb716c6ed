#pragma once

#include "ir/Model.h"

#include <memory>

namespace origo::eval {

/// The elements of a sparse constant with all its zeros, in the order of its shape. `stored` are those that are kept,
/// `elementBytes` of them each. An error if the indices do not fit the shape; the caller checks the shape's size.
llvm::Expected<std::unique_ptr<uint8_t[]>> densify(const circle::SparsityParameters &sparsity,
                                                   llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<uint8_t> stored,
                                                   size_t elementBytes);

} // namespace origo::eval
