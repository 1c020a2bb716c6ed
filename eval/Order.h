#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace origo::eval {

/// Steps that may run in several orders, and the memory of the tensors that they make.
struct Ordering {
  struct Step {
    llvm::SmallVector<int, 4> after; ///< steps that come before this one
    llvm::SmallVector<int, 4> reads; ///< tensors
    llvm::SmallVector<int, 2> makes;
  };
  std::vector<Step> steps;     ///< in the file's order, in which each comes behind what it is `after`
  std::vector<uint64_t> bytes; ///< by tensor
  std::vector<bool> kept;      ///< by tensor: to the end

  /// The most bytes that live at the same time. A tensor lives from the step that makes it to the last one that reads
  /// it.
  uint64_t peak(llvm::ArrayRef<int> order) const;
  /// What the greediest step reads and makes: no order has less.
  uint64_t lowerBound() const;

  struct Found {
    std::vector<int> order;
    uint64_t peak;
    bool least; ///< no order has less
  };
  /// An order with a low peak, never above the file's. The least one where `work` steps of the search are enough.
  Found search(uint64_t work = defaultWork) const;

  static constexpr uint64_t defaultWork = 1 << 14; ///< about a millisecond
  static constexpr size_t mostSteps = 1024; ///< above that, the file's order: a search copies sets of them each time
  static constexpr size_t mostOperands = 16 * mostSteps;
};

} // namespace origo::eval
