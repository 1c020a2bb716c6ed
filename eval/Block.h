#pragma once

#include "eval/RunOperator.h"

#include <memory>
#include <new>

namespace origo::eval {

/// Memory for tensors and weights, at the start of a cache line: vectors as long as a line would else lie in two each.
struct Block {
  struct Delete {
    void operator()(uint8_t *data) const { operator delete[](data, std::align_val_t(alignment)); }
  };
  static constexpr size_t alignment = 64;
  std::unique_ptr<uint8_t[], Delete> data;
  uint64_t bytes = 0;
  /// False: there is no memory.
  bool allocate(uint64_t size) {
    data.reset(static_cast<uint8_t *>(operator new[](size + readAhead, std::align_val_t(alignment), std::nothrow)));
    bytes = data ? size : 0;
    return data != nullptr;
  }
};

} // namespace origo::eval
