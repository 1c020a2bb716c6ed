#pragma once

#include "ir/rewrite/Graph.h"

namespace origo::rewrite {

/// An integer that is computed from one size n which is not known before run time. Of n = q · period + r it is
/// q · slope + rests[r], where the period is the number of rests. Sums, multiples, quotients and remainders by
/// constants of such numbers are such numbers again, so that what is found of these is proved for all sizes, not tried
/// for some.
class Extent {
public:
  static Extent of(int64_t number) { return {-1, 0, {number}}; }
  static Extent ofSize(int axis) { return {axis, 1, {0}}; }
  /// What an operator of integers makes of two; none: it is no such number, or one of big ones.
  static std::optional<Extent> computed(Op code, const Extent &a, const Extent &b);
  /// The one number that it is for all sizes.
  std::optional<int64_t> number() const;
  /// What it is for one size.
  int64_t at(int64_t size) const {
    auto period = static_cast<int64_t>(rests.size());
    return size / period * slope + rests[size % period];
  }

private:
  Extent(int axis, int64_t slope, llvm::SmallVector<int64_t, 2> rests)
      : axis(axis), slope(slope), rests(std::move(rests)) {}
  std::optional<Extent> over(uint64_t period) const;
  std::optional<Extent> divided(Op code, int64_t by) const;
  int axis; ///< whose size it is; -1: of a number
  int64_t slope;
  llvm::SmallVector<int64_t, 2> rests;
};
using ExtentList = llvm::SmallVector<Extent, 4>;

/// The elements of a tensor of integers that are computed from the sizes of another one. What a rule computes from them
/// stays bound to the constants that they came from.
class Extents {
public:
  size_t size() const { return list.size(); }
  /// By how much the element is more than that of others, if that is one number for all sizes.
  std::optional<int64_t> more(size_t i, const Extents &others) const;
  Integers with(llvm::ArrayRef<int32_t> computed, const Extents &others) const {
    return bound.boundTo(others.bound).with(computed);
  }

private:
  friend class Match;
  ExtentList list;
  Integers bound;
};

} // namespace origo::rewrite
