#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace origo::rewrite {

/// What a chain of reshapes and transposes does: the dimensions of the source, taken apart as far as needed, in another
/// order. Two that do the same are equal.
class Moves {
public:
  /// The parts of the source, the outermost first, and which of them come first in the result.
  Moves(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<unsigned> order);
  bool operator==(const Moves &) const = default;
  bool keepsOrder() const { return sizes.size() <= 1; }
  /// The same of the last dimension alone, of `channels` elements, behind `front` that stay. None: others move as well.
  std::optional<Moves> ofLast(int64_t front, int64_t channels) const;

  /// The parts as they stand in the result, and the permutation that puts them back.
  llvm::SmallVector<int32_t, 8> moved() const;
  llvm::SmallVector<int32_t, 8> back() const;

private:
  llvm::SmallVector<int64_t, 8> sizes;
  llvm::SmallVector<unsigned, 8> order;
};

/// Follows a tensor through a chain.
class Chain {
public:
  explicit Chain(llvm::ArrayRef<int32_t> shape);
  /// False: a dimension of the result takes parts of several that do not divide it.
  bool reshape(llvm::ArrayRef<int32_t> shape);
  bool transpose(llvm::ArrayRef<int64_t> permutation);
  Moves moves() const;

private:
  llvm::SmallVector<int64_t, 8> sizes;                          ///< of the parts, by number
  llvm::SmallVector<unsigned, 8> source;                        ///< parts in the source's order
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>, 6> current; ///< by dimension
};

} // namespace origo::rewrite
