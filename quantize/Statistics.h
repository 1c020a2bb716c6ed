#pragma once

#include "quantize/Histogram.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace origo::quantize {

/// What a model computed for some records: of each tensor of floats, the least and the greatest number of each record,
/// and where asked for how many elements of all records lie where. Rows carry the numbers of their records, so that
/// parts which several machines made add up to the same file as one run makes, in whatever order they are put together.
struct Statistics {
  struct Tensor {
    unsigned subgraph = 0, index = 0; ///< in the file
    std::string name;
    std::vector<Extremes> rows; ///< one a record; empty where the record did not compute the tensor
    Histogram histogram = {};
  };
  std::string model;  ///< fingerprint of the float model
  std::string engine; ///< what computed, kernels and processor: another one adds floats up in another order
  bool histograms = false;
  std::vector<uint64_t> records; ///< ascending
  std::vector<Tensor> tensors;   ///< by subgraph and index

  std::string text() const; ///< as a file, in JSON
  static llvm::Expected<Statistics> parse(llvm::StringRef text);
  /// Takes over the records of another part. Refused: another model or engine, one of the two without
  /// histograms, or a record that is here already.
  llvm::Error merge(const Statistics &other);
};

} // namespace origo::quantize
