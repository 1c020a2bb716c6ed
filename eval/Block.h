#pragma once

#include "eval/RunOperator.h"

#include <memory>
#include <new>

namespace origo::eval {

/// Memory for tensors and weights, at the start of a cache line: vectors as long as a line would else lie in two each.
/// Blocks of many pages begin at a huge one, and the whole huge pages within them are asked for: that the system
/// provides small ones at their first use takes as long as many an operator.
struct Block {
  struct Delete {
    std::align_val_t alignment;
    void operator()(uint8_t *data) const { operator delete[](data, alignment); }
  };
  std::unique_ptr<uint8_t[], Delete> data = {nullptr, Delete{}};
  uint64_t bytes = 0;
  /// False: there is no memory.
  bool allocate(uint64_t size);
  /// Pages that none of `parts` lies in go back to the system: what they hold is lost.
  void keepOnly(llvm::ArrayRef<llvm::ArrayRef<uint8_t>> parts);
};

} // namespace origo::eval
