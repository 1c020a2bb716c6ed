#pragma once

#include "ir/IdSet.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <vector>

namespace origo {

/// Which source tensor is which operand and which result of which source operator: the edges of the first model, by id.
/// Empty where a continued map does not tell.
class SourceGraph {
public:
  /// The operator with the next id. −1: an operand or a result that is absent.
  void addOperator(llvm::ArrayRef<int32_t> operands, llvm::ArrayRef<int32_t> results);
  void clear() { *this = {}; }
  bool known() const { return !ends.empty(); }
  llvm::ArrayRef<int32_t> operands(uint32_t op) const;
  int32_t producer(uint32_t tensor) const { return tensor < producers.size() ? producers[tensor] : -1; } ///< or −1

  /// Calls `visit` with `tensor` and with what it is computed from, the nearest first and no more than `most` tensors,
  /// until that says yes. Did it?
  bool walkBack(uint32_t tensor, size_t most, llvm::function_ref<bool(uint32_t tensor)> visit) const;

  /// Calls `visit` for each operand of one of `users` that is `tensor` and for which it was not called before. What
  /// many share costs no more for that: time is that of the calls, and little besides.
  void takeUses(uint32_t tensor, IdSet users, const IdSets &sets,
                llvm::function_ref<void(uint32_t user, uint32_t position)> visit);

private:
  std::vector<int32_t> tensors;   ///< operands of all operators, one behind the other
  std::vector<uint32_t> ends;     ///< by operator: the end of its own ones
  std::vector<int32_t> producers; ///< by tensor, as far as the last one that has any
  // Made when the first use is taken.
  std::vector<uint32_t> firstUse; ///< by tensor: into `uses`, and the end
  std::vector<uint32_t> uses;     ///< places in `tensors`, those of a tensor in ascending order
  std::vector<uint32_t> nextLeft; ///< by use: this or a later one that may not have been taken

  void index();
  uint32_t userOf(uint32_t place) const;
  uint32_t left(uint32_t use);
};

} // namespace origo
