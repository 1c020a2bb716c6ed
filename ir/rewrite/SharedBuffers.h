#pragma once

#include "ir/Model.h"

namespace origo::rewrite {

/// A buffer that is used several times when a run begins, as the weights of several signatures are: where the run makes
/// the same bytes of it for each use, they have one buffer again.
class SharedBuffers {
public:
  explicit SharedBuffers(const Model &model);
  /// Each constant is computed once for that. An error: there is no room for one.
  llvm::Error restore(Model &model) const;

private:
  llvm::DenseMap<uint32_t, unsigned> groups; ///< by source tensor: which buffer its constant shared
};

} // namespace origo::rewrite
