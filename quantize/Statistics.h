#pragma once

#include "quantize/Extremes.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace origo {
class Model;
}

namespace origo::quantize {

/// How the extremes of records become one range for a tensor.
struct Summary {
  enum class Mode { Percentile, MovingAverage } mode = Mode::Percentile;
  /// Percentile: of the least and of the greatest numbers of the records, in percent, linear between two of them.
  double low = 1, high = 99;
  /// MovingAverage: over the extremes of batches of records, a ← (1 − constant)·a + constant·batch.
  size_t batch = 16;
  float constant = 0.1f;
};

/// What a model computed for some records: of each tensor of floats, the least and the greatest number of each record.
/// Rows carry the numbers of their records, so that parts which several machines made add up to the same file as one
/// run makes, in whatever order they are put together.
struct Statistics {
  struct Tensor {
    unsigned subgraph = 0, index = 0; ///< in the file
    std::string name;
    std::vector<Extremes> rows; ///< one a record; empty where the record did not compute the tensor
  };
  std::string model;  ///< fingerprint of the float model
  std::string engine; ///< what computed: another one adds floats up in another order
  std::vector<uint64_t> records; ///< ascending
  std::vector<Tensor> tensors;   ///< by subgraph and index

  std::string text() const; ///< as a file, in JSON
  static llvm::Expected<Statistics> parse(llvm::StringRef text);
  /// Takes over the records of another part. Refused: another model or engine, or a record that is here already.
  llvm::Error merge(const Statistics &other);
};

/// The range of a tensor over all records; empty if none computed a number.
Extremes summarise(const Statistics::Tensor &tensor, const Summary &summary);

/// Writes the ranges into the model, as the minimum and maximum of the tensors' quantisation parameters. Refused:
/// statistics of another model. Adds the tensors that no record gave a number to `silent`.
llvm::Error setRanges(Model &model, const Statistics &statistics, const Summary &summary,
                      std::vector<std::string> &silent);

} // namespace origo::quantize
