#pragma once

#include "ir/Model.h"

namespace origo::commands {

/// What the five flags --sparsify_… say, in their words: the name of a constant, and lists with commas.
struct SparsifyRequest {
  std::string tensor;
  std::string order;     ///< of the dimensions, and behind them of those inside of blocks; empty: in this order
  std::string format;    ///< d (dense) or s (sparse) for each dimension
  std::string blockMap;  ///< the dimensions that are divided into blocks
  std::string blockSize; ///< of each of them
};

/// Stores a constant without its zeros. It is the same tensor for who uses it.
llvm::Error sparsify(Model &model, const SparsifyRequest &request, PayloadStore &store);

} // namespace origo::commands
