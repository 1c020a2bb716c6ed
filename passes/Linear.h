#pragma once

#include "ir/Rewriter.h"

namespace origo {

using circle::ActivationFunctionType;

/// The activation fused into an operator; NONE where its options have no such field.
ActivationFunctionType fusedActivation(const Operator &op);
/// The edit that sets it.
wire::ScalarEdit activationEdit(const Operator &op, ActivationFunctionType activation);

/// What Conv2D, DepthwiseConv2D, TransposeConv and FullyConnected have in common: output channel c is
/// sum(input · filter[c]) + bias[c].
class Linear {
public:
  Linear() = default;
  explicit Linear(Operator &op);

  Operator *op = nullptr;
  unsigned filterIndex = 0, biasIndex = 0; ///< operand positions
  unsigned channelAxis = 0;                ///< of the filter
  Value *filter() const { return op->operand(filterIndex); }
  Value *bias() const { return op->operand(biasIndex); } ///< null: none
  int32_t channels() const { return filter()->shape[channelAxis]; }
  /// All float32, with a dense constant filter of the usual layout and a constant bias or none.
  bool isPlainFloat() const;
};

/// A linear operator, consumed.
struct m_Linear {
  Linear &bind;
  explicit m_Linear(Linear &bind) : bind(bind) {}
  bool match(Value *value, Rewriter &rw) const;
};

/// A float32 constant that holds one number, or one for each channel of the last dimension of `like`, and so
/// broadcasts along nothing but that.
bool isPerChannel(const Value &constant, const Value &like, int32_t channels);

bool isDenseFloatConstant(const Value *v);

/// Element `i` of a float32 constant, whatever its alignment.
float floatAt(const Value &constant, size_t i);

} // namespace origo
