#pragma once

#include "ir/Rewriter.h"

namespace origo {

/// Does an operator that moves elements leave those that it keeps in their order? A transpose does if it moves
/// dimensions of size 1 only, a strided slice if its strides are positive; false where a constant would have to tell.
bool keepsOrder(const Operator &op);

/// Reshape, Squeeze or ExpandDims.
bool onlyReshapes(const Operator &op);

/// Quantised with one parameter for all elements, or not at all, so that moving them changes nothing.
bool perTensor(const Value &value);

std::string bytesOf(llvm::ArrayRef<int32_t> numbers);

/// The result of a transpose whose permutation is constant and fits, consumed.
struct Transposed {
  Operator *op = nullptr;
  Value *x = nullptr; ///< what it transposes
  llvm::SmallVector<int32_t, 8> permutation = {};
};
struct m_Transposed {
  Transposed &bind;
  explicit m_Transposed(Transposed &bind) : bind(bind) {}
  bool match(Value *value, Rewriter &rw) const;
};

} // namespace origo
