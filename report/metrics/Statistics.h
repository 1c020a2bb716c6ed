#pragma once

#include "ir/Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"

/// What the elements of constants are like.
namespace origo::report {

struct Statistics {
  uint64_t elements = 0; ///< of the shape, those included that a sparse tensor does not store
  uint64_t zeros = 0, nans = 0, infinities = 0;
  uint64_t blocks = 0, zeroBlocks = 0; ///< runs along the last dimension; no blocks of what is stored sparsely
  // Of the finite elements as real numbers: what is quantised counts as what it stands for. All 0 where there is none.
  uint64_t finite = 0;
  double min = 0, max = 0, mean = 0, std = 0;
};

struct StatisticsOptions {
  unsigned block = 4;   ///< elements
  unsigned threads = 1; ///< an upper bound; the result does not depend on it
  /// Is told the share that is done, 0 to 100, by the calling thread.
  llvm::function_ref<void(unsigned)> progress = nullptr;
};

/// One pass over the payloads where they lie. Nothing for what is no constant, whose bytes are not at hand or do not
/// fit its shape, and for types that hold no plain numbers.
std::vector<std::optional<Statistics>> statisticsOf(llvm::ArrayRef<const Value *> values,
                                                    const StatisticsOptions &options);

/// How many of the finite elements of a constant lie in each of so many equal parts between `min` and `max`; empty
/// where there are no statistics of it.
std::vector<uint64_t> histogramOf(const Value &value, const Statistics &statistics, unsigned parts);

} // namespace origo::report
