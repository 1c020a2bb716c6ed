#pragma once

#include "eval/fast/Parallel.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

/// Rows of int16 times a matrix of int8, in integers: what matrix products and convolutions have inside.
namespace origo::eval {

/// The right matrix as the inner loop reads it: in stripes of `width` columns, two rows of them beside each other. Rows
/// may come in several runs of the same length (positions of a filter, blocks); each is filled up to an even number.
class PackedMatrix {
public:
  static constexpr int64_t width = 16;
  int64_t columns = 0, runs = 0, depth = 0;

  /// `at(column, run, k)` is an element. Allocates only when it gets larger.
  template <class At> void pack(int64_t columnCount, int64_t runCount, int64_t depthOfRun, At at) {
    columns = columnCount;
    runs = runCount;
    depth = depthOfRun;
    bytes.assign(static_cast<size_t>(stripes() * runs * runSize()), 0);
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t run = 0; run < runs; ++run) {
        int8_t *to = bytes.data() + (column / width * runs + run) * runSize() + column % width * 2;
        for (int64_t k = 0; k < depth; ++k)
          to[k / 2 * width * 2 + k % 2] = at(column, run, k);
      }
  }
  int64_t stripes() const { return (columns + width - 1) / width; }
  int64_t pairs() const { return (depth + 1) / 2; }
  const int8_t *stripe(int64_t stripe, int64_t run) const { return bytes.data() + (stripe * runs + run) * runSize(); }
  /// How many columns a stripe has.
  int64_t columnsOf(int64_t stripe) const { return std::min(width, columns - stripe * width); }

private:
  int64_t runSize() const { return pairs() * 2 * width; }
  std::vector<int8_t> bytes;
};

constexpr int64_t maxRows = 8; ///< that the inner loop takes at once

/// Sums of `maxRows` rows and the columns of a stripe.
template <class Sum> using Sums = std::array<std::array<Sum, PackedMatrix::width>, maxRows>;

/// sums[r][c] += Σ left[r][k] · stripe(k, c), wrapping; `rows` at most `maxRows`. Reads as many numbers as `pairs` has:
/// behind a row of odd length there has to be one more, which is multiplied by 0.
using AddProducts = void (*)(const int16_t *const *left, int64_t rows, const int8_t *stripe, int64_t pairs,
                             Sums<int32_t> &sums);
/// All that run on this processor, the fastest one first.
llvm::ArrayRef<AddProducts> allAddProducts();
inline void addProducts(const int16_t *const *left, int64_t rows, const int8_t *stripe, int64_t pairs,
                        Sums<int32_t> &sums) {
  static const AddProducts add = allAddProducts().front();
  add(left, rows, stripe, pairs, sums);
}

/// As many products of int16 and int8 as have a sum of 32 bits for certain, in pairs.
constexpr int64_t safePairs = 255;

/// `body(first row, number of rows, stripe)` with at most `maxRows`, on all threads.
template <class Body> void forTiles(const PackedMatrix &right, int64_t rows, pthreadpool_t threads, const Body &body) {
  constexpr int64_t rowsOfTile = 6 * maxRows, stripesOfTile = 4;
  int64_t rowTiles = (rows + rowsOfTile - 1) / rowsOfTile;
  int64_t stripeTiles = (right.stripes() + stripesOfTile - 1) / stripesOfTile;
  parallelFor(threads, static_cast<size_t>(rowTiles * stripeTiles), 1, [&](size_t at, size_t) {
    int64_t firstRow = static_cast<int64_t>(at) / stripeTiles * rowsOfTile;
    int64_t firstStripe = static_cast<int64_t>(at) % stripeTiles * stripesOfTile;
    int64_t endRow = std::min(firstRow + rowsOfTile, rows);
    for (int64_t stripe = firstStripe; stripe < std::min(firstStripe + stripesOfTile, right.stripes()); ++stripe)
      for (int64_t row = firstRow; row < endRow; row += maxRows)
        body(row, std::min(maxRows, endRow - row), stripe);
  });
}

/// All sums of `rows` rows: `rowAt(row, run)` points at the numbers of one; `end(row, column, sums)` gets those of the
/// stripe that begins at `column`. Sum: int32_t (wrapping) or int64_t.
template <class Sum, class RowAt, class End>
void multiply(const PackedMatrix &right, int64_t rows, pthreadpool_t threads, const RowAt &rowAt, const End &end) {
  forTiles(right, rows, threads, [&](int64_t row, int64_t count, int64_t stripe) {
    Sums<int32_t> sums = {};
    Sums<Sum> wide = {};
    int64_t pending = 0; // pairs that are in `sums`
    auto flush = [&] {
      for (int64_t r = 0; r < count; ++r)
        for (size_t c = 0; c < PackedMatrix::width; ++c)
          wide[r][c] += sums[r][c];
      sums = {};
      pending = 0;
    };
    constexpr bool narrow = sizeof(Sum) == sizeof(int32_t);
    for (int64_t run = 0; run < right.runs; ++run) {
      const int16_t *left[maxRows];
      for (int64_t r = 0; r < count; ++r)
        left[r] = rowAt(row + r, run);
      const int8_t *packed = right.stripe(stripe, run);
      for (int64_t pair = 0, some; pair < right.pairs(); pair += some) {
        some = narrow ? right.pairs() : std::min(safePairs, right.pairs() - pair);
        if (!narrow && pending + some > safePairs)
          flush();
        addProducts(left, count, packed + pair * 2 * PackedMatrix::width, some, sums);
        pending += some;
        for (const int16_t *&at : llvm::MutableArrayRef(left, static_cast<size_t>(count)))
          at += 2 * some;
      }
    }
    if constexpr (!narrow)
      flush();
    for (int64_t r = 0; r < count; ++r)
      if constexpr (narrow)
        end(row + r, stripe * PackedMatrix::width, sums[r]);
      else
        end(row + r, stripe * PackedMatrix::width, wide[r]);
  });
}

} // namespace origo::eval
