#pragma once

#include "eval/Shapes.h"
#include "schema/TensorTypes.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

/// What moves elements without looking at them.
namespace origo::eval {

/// Bytes of one element; of types that rows call `any`.
inline int64_t elementSize(const Tensor &tensor) { return bitsPerElement(tensor.type).value_or(8) / 8; }

/// A matrix of `rows` × `columns` elements that lies in memory the other way round: the next element of a row is `step`
/// elements behind, the next row begins one element behind.
inline void copyTransposed(const uint8_t *from, int64_t rows, int64_t columns, int64_t step, int64_t size,
                           uint8_t *to) {
  constexpr int64_t together = 16; // rows, that what is read from memory at once is used at once
  auto withSize = [&](auto size) {
    for (int64_t first = 0; first < rows; first += together)
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t row = first; row < std::min(first + together, rows); ++row)
          std::memcpy(to + (row * columns + column) * size, from + (column * step + row) * size, size);
  };
  switch (size) { // which the compiler makes one move of
  case 1:
    return withSize(std::integral_constant<int64_t, 1>());
  case 2:
    return withSize(std::integral_constant<int64_t, 2>());
  case 4:
    return withSize(std::integral_constant<int64_t, 4>());
  case 8:
    return withSize(std::integral_constant<int64_t, 8>());
  default:
    return withSize(size);
  }
}

/// output[i, j, …] = from[offset + i·steps[0] + j·steps[1] + …], all counted in elements.
inline void copyStrided(const uint8_t *from, int64_t offset, llvm::ArrayRef<int64_t> steps,
                        llvm::ArrayRef<int32_t> shape, int64_t size, uint8_t *to) {
  int64_t count = product(shape), run = 1;
  if (count == 0)
    return;
  size_t outer = shape.size();
  // The innermost dimensions that lie behind each other are copied in one piece.
  while (outer > 0 && steps[outer - 1] == run)
    run *= shape[--outer];
  // Or else the innermost ones as a matrix, perhaps of one row.
  int64_t rows = 0, step = 0;
  if (run == 1 && outer > 0) {
    step = steps[--outer];
    run = shape[outer];
    rows = outer > 0 && steps[outer - 1] == 1 ? shape[--outer] : 1;
  }
  int64_t piece = run * std::max<int64_t>(rows, 1);
  llvm::SmallVector<int32_t, 6> position(outer, 0);
  int64_t at = offset;
  for (int64_t done = 0; done < count; done += piece) {
    if (rows)
      copyTransposed(from + at * size, rows, run, step, size, to + done * size);
    else
      std::memcpy(to + done * size, from + at * size, run * size);
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
