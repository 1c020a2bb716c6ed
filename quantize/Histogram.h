#pragma once

#include "quantize/Extremes.h"

#include <array>
#include <cstdint>
#include <vector>

namespace origo::quantize {

/// How many numbers of a tensor lie where, on a grid of the number line that is the same for all tensors and machines,
/// so that counts of parts add up to those of the whole. The grid has 32 cells between a power of two and the next,
/// from 2^-64 to 2^64, for both signs: 64 KiB of counts. What is nearer to zero counts as zero, what is further out as
/// in the last cell. NaN, the infinities and the lowest float count nowhere.
class Histogram {
public:
  static constexpr unsigned cells = 8192, zero = cells / 2; ///< positive numbers are in cell zero and above
  bool empty() const { return counts.empty(); }
  uint64_t operator[](unsigned cell) const { return counts.empty() ? 0 : counts[cell]; }
  uint64_t total() const;

  void add(llvm::ArrayRef<float> numbers);
  void add(unsigned cell, uint64_t count); ///< saturates
  void add(const Histogram &other);

  /// What numbers of a cell lie between.
  static float low(unsigned cell);
  static float high(unsigned cell);

private:
  std::vector<uint64_t> counts; ///< none, or one a cell
};

} // namespace origo::quantize
