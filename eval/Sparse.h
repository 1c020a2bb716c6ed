#pragma once

#include "ir/Model.h"

#include <memory>

namespace origo::eval {

/// The elements of a sparse constant with all its zeros, in the order of its shape. `stored` are those that are kept,
/// `elementBytes` of them each. An error if the indices do not fit the shape; the caller checks the shape's size.
llvm::Expected<std::unique_ptr<uint8_t[]>> densify(const circle::SparsityParameters &sparsity,
                                                   llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<uint8_t> stored,
                                                   size_t elementBytes);

/// How a constant is to be made sparse. Dimensions are visited in `order`, where those inside of blocks have the
/// numbers behind the others.
struct SparseLayout {
  std::vector<int32_t> order;
  std::vector<bool> sparse;                 ///< by dimension: only the places that hold something are kept
  std::vector<int32_t> blockMap, blockSize; ///< the dimensions that are divided into blocks, and of how many elements
};
struct SparseConstant {
  std::string stored;
  flatbuffers::DetachedBuffer sparsity; ///< circle::SparsityParameters
};
/// The inverse of `densify`: what is kept of `dense`. Zero is what has no bit set. An error if the layout does not fit.
llvm::Expected<SparseConstant> sparsify(const SparseLayout &layout, llvm::ArrayRef<int32_t> shape,
                                        llvm::ArrayRef<uint8_t> dense, size_t elementBytes);

} // namespace origo::eval
