#pragma once

#include "ir/Model.h"

namespace origo {

/// evaluate() for operators that only move elements. The stated shape of the result is trusted for its size and checked
/// against what is moved.
llvm::Expected<std::optional<Payload>> moveElements(const Operator &op, PayloadStore &store, const char *&why);

/// A constant with elements of `size` whole bytes in one dense block that fills its shape.
bool isDense(const Value *value, uint64_t size);

/// The part of a payload, in the order, that strides walk: element (i0, i1, …) of the result is element
/// base + Σ i·step of `elements`, each `size` bytes. All of these must be in range.
struct Walk {
  int64_t base = 0;
  llvm::SmallVector<int64_t, 6> steps = {}; ///< one a dimension of the result
};
llvm::Expected<Payload> walkElements(const Payload &elements, uint64_t size, llvm::ArrayRef<int32_t> shape,
                                     const Walk &walk, PayloadStore &store);
/// Dimension i of the result is dimension permutation[i] of `shape`.
Walk permuting(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int32_t> permutation);
/// Dimensions of size 1, and those missing in front, are repeated; none where `shape` does not broadcast to `result`.
std::optional<Walk> broadcasting(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int32_t> result);

} // namespace origo
