#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace origo::eval {

/// Four rows of four elements of 32 bits become columns.
template <class T> void transposeSquare(const T *from, int64_t fromStep, T *to, int64_t toStep) {
  using Four = uint32_t __attribute__((vector_size(16)));
  Four a, b, c, d;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + fromStep, sizeof b);
  std::memcpy(&c, from + 2 * fromStep, sizeof c);
  std::memcpy(&d, from + 3 * fromStep, sizeof d);
  Four abLow = __builtin_shufflevector(a, b, 0, 4, 1, 5), abHigh = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  Four cdLow = __builtin_shufflevector(c, d, 0, 4, 1, 5), cdHigh = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(abLow, cdLow, 0, 1, 4, 5);
  b = __builtin_shufflevector(abLow, cdLow, 2, 3, 6, 7);
  c = __builtin_shufflevector(abHigh, cdHigh, 0, 1, 4, 5);
  d = __builtin_shufflevector(abHigh, cdHigh, 2, 3, 6, 7);
  std::memcpy(to, &a, sizeof a);
  std::memcpy(to + toStep, &b, sizeof b);
  std::memcpy(to + 2 * toStep, &c, sizeof c);
  std::memcpy(to + 3 * toStep, &d, sizeof d);
}

/// Rows of so many elements become columns; steps are from one row to the next.
template <class T>
void transposeRows(const T *from, int64_t fromStep, int64_t rows, int64_t columns, T *to, int64_t toStep) {
  constexpr int64_t some = 16; // a line of the cache of each row at a time, where elements have 32 bits
  for (int64_t begin = 0; begin < columns; begin += some) {
    int64_t end = std::min(begin + some, columns), squares = begin + (end - begin) / 4 * 4;
    for (int64_t row = 0; row < rows; row += 4) {
      int64_t last = std::min(row + 4, rows), column = begin;
      if constexpr (sizeof(T) == 4)
        for (; last - row == 4 && column < squares; column += 4)
          transposeSquare(from + row * fromStep + column, fromStep, to + column * toStep + row, toStep);
      for (; column < end; ++column)
        for (int64_t r = row; r < last; ++r)
          to[column * toStep + r] = from[r * fromStep + column];
    }
  }
}

} // namespace origo::eval
