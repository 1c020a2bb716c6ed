#pragma once

#include "quantize/Patches.h"

namespace origo::quantize {

/// Inputs of a linear operator's weights in two networks beside each other: x of the float one, and x̂ of the one in
/// which what comes before is quantised. Means are over all positions; products over some of them, evenly spread.
class CrossMoments {
public:
  struct Group {
    std::vector<double> mean, quantizedMean;
    std::vector<float> products; ///< of x̂ − its mean with itself: a whole matrix, row by row
    std::vector<float> apart;    ///< of x − x̂ with x̂, likewise; empty: x and x̂ are the same
  };
  /// `positions`: how many there are going to be.
  CrossMoments(const Operator &op, uint64_t positions);
  void add(const float *x, const float *quantized, llvm::ArrayRef<int32_t> shape);
  /// Of the next group. Each once, in turn; what it was made of goes.
  Group take(size_t group);
  const Patches &over() const { return patches; }
  /// Would the matrices take more than 64 MB a piece, or a minute?
  static bool isTooLarge(const Patches &patches);

private:
  struct Sums {
    std::vector<double> sum, quantizedSum, seenSum, seenApart, products, apart;
    std::vector<float> waiting, waitingApart; ///< patches whose products are not added yet
  };
  Patches patches;
  std::vector<Sums> groups;
  std::vector<float> patch, quantizedPatch;
  uint64_t every = 1, next = 0, count = 0, seen = 0;
  bool differs = false;

  void flush(Sums &sums);
};

} // namespace origo::quantize
