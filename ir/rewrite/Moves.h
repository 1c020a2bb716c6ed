#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace origo::rewrite {

/// What a chain of reshapes, transposes and repetitions does: the dimensions of the source, taken apart as far as
/// needed, in another order, and dimensions along which all is repeated between them. Two that do the same are equal.
class Moves {
public:
  /// The parts of the source, the outermost first, and which of them come first in the result; the last ones of
  /// `sizes` are no parts of the source, but so many times all is `repeated` there.
  Moves(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<unsigned> order, unsigned repeated = 0);
  bool operator==(const Moves &) const = default;
  bool keepsOrder() const { return sizes.size() <= 1; }
  /// The same of the last dimension alone, of `channels` elements, behind `front` that stay. None: others move as well.
  std::optional<Moves> ofLast(int64_t front, int64_t channels) const;

  /// What puts all back, where nothing is repeated.
  Moves inverse() const;

  /// The parts as they stand in the result, and the permutation that puts them back.
  llvm::SmallVector<int32_t, 8> moved() const;
  llvm::SmallVector<int32_t, 8> back() const;

private:
  static constexpr unsigned again = ~0u; ///< in `order`, for the next one of `repeats`
  llvm::SmallVector<int64_t, 8> sizes;
  llvm::SmallVector<unsigned, 8> order;
  llvm::SmallVector<int64_t, 2> repeats;
};

/// Follows a tensor through a chain.
class Chain {
public:
  explicit Chain(llvm::ArrayRef<int32_t> shape);
  /// False: a dimension of the result takes parts of several that do not divide it.
  bool reshape(llvm::ArrayRef<int32_t> shape);
  bool transpose(llvm::ArrayRef<int64_t> permutation);
  /// A dimension so many times, one behind the other, or each of its elements, in turn.
  bool repeat(int64_t axis, int64_t times, bool each = false);
  Moves moves() const;

private:
  llvm::SmallVector<int64_t, 8> sizes;   ///< of the parts, by number
  llvm::SmallVector<unsigned, 8> source; ///< parts in the source's order; those that are not here repeat it
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>, 6> current; ///< by dimension
};

} // namespace origo::rewrite
