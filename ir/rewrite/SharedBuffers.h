#pragma once

#include "ir/Model.h"

namespace origo::rewrite {

/// What a run makes of a source tensor for each of its uses, and of tensors that share a buffer when it begins, as the
/// weights of several signatures do: where the bytes are the same, they have one buffer.
class SharedBuffers {
public:
  explicit SharedBuffers(const Model &model);
  /// Each constant is computed once for that. An error: there is no room for one.
  llvm::Error restore(Model &model) const;

private:
  llvm::DenseMap<uint64_t, unsigned> groups; ///< by source tensor: which buffer its constant shares
};

} // namespace origo::rewrite
