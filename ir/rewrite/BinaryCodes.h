#pragma once

#include "ir/Model.h"

#include "llvm/ADT/DenseMap.h"

namespace origo::rewrite {

/// What a network that was trained with binary-coded weights brings along: constants among the outputs of its first
/// subgraph, one bundle for each matrix that is coded. Output 0 says so, the next ones are the network's own, and
/// behind these stand the bundles, each of the same length: doWX, scales, codes, the number of clusters, their sizes,
/// their bits, and the matrix as it was.
class BinaryCodes {
public:
  struct Bundle {
    bool rowsFirst; ///< the matrix multiplies from the left, and operators have it as it stands here; else transposed
    Value *scales, *binary, *sizes, *bits;
    const Value *matrix;
  };
  BinaryCodes() = default;
  explicit BinaryCodes(const Subgraph &graph);
  /// The network's own outputs; none: no output says that there are codes.
  std::optional<llvm::ArrayRef<Value *>> ownOutputs() const { return own; }
  /// The bundle of a matrix with these elements in this order.
  const Bundle *of(const Value &weights) const;

private:
  std::optional<llvm::ArrayRef<Value *>> own;
  std::vector<Bundle> bundles;
  llvm::DenseMap<uint64_t, llvm::SmallVector<unsigned, 1>> byElements;
};

} // namespace origo::rewrite
