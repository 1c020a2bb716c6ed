#pragma once

#include "eval/Shapes.h"
#include "schema/TensorTypes.h"

#include <cstring>

/// What moves elements without looking at them.
namespace origo::eval {

/// Bytes of one element; of types that rows call `any`.
inline int64_t elementSize(const Tensor &tensor) { return bitsPerElement(tensor.type).value_or(8) / 8; }

/// output[i, j, …] = from[offset + i·steps[0] + j·steps[1] + …], all counted in elements.
inline void copyStrided(const uint8_t *from, int64_t offset, llvm::ArrayRef<int64_t> steps,
                        llvm::ArrayRef<int32_t> shape, int64_t size, uint8_t *to) {
  int64_t rows = product(shape), run = 1;
  if (rows == 0)
    return;
  size_t outer = shape.size();
  // The innermost dimensions that lie behind each other are copied in one piece.
  while (outer > 0 && steps[outer - 1] == run)
    run *= shape[--outer];
  rows /= run;
  llvm::SmallVector<int32_t, 6> position(outer, 0);
  int64_t at = offset;
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * run * size, from + at * size, run * size);
    for (size_t d = outer; d-- > 0;) {
      at += steps[d];
      if (++position[d] < shape[d])
        break;
      at -= steps[d] * shape[d];
      position[d] = 0;
    }
  }
}

} // namespace origo::eval
