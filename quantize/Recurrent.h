#pragma once

#include "quantize/Extremes.h"

#include <string>

/// What TensorFlow Lite's integer kernels ask of operators whose state goes on from one moment to the next.
namespace origo::quantize {

/// How such an operator has one of its operands.
struct RecurrentOperand {
  enum class As : uint8_t {
    Weights,   ///< 8 bits, one symmetric scale
    Weights16, ///< 16 bits, likewise
    Bias,    ///< 32 bits, of the product of two scales; of a sum that is normalised: of 2^-10 times that of its weights
    Result,  ///< a variable, as the result is
    State16, ///< a variable of 16 bits
    Cell16   ///< the same, whose scale is a power of two
  };
  unsigned position;
  As as;
  unsigned factors[2] = {};          ///< of a bias: the operands whose scales are multiplied
  std::optional<unsigned> norm = {}; ///< of a bias: the weights of a normalisation, if there are any
};
/// In `factors`: what the projection reads.
constexpr unsigned hidden = ~0u;

/// The tensors that carry the scales of the sums of four gates, and of what the projection reads; empty: none.
constexpr unsigned lstmIntermediates = 5;
/// Those of an operator, each behind those that it asks for; none: it is no such operator.
llvm::ArrayRef<RecurrentOperand> recurrentOperands(BuiltinOperator code);

/// Why no integer kernel computes it; empty: nothing speaks against it.
std::string recurrentRefusal(const Operator &op);

/// Does the LSTM use the scale of this intermediate: normalise that sum, or project?
bool usesIntermediate(const Operator &op, unsigned i);

/// Values that are no results, and whose ranges records have to tell: the state, and the intermediates that are used.
llvm::SmallVector<const Value *, 6> valuesWithin(const Operator &op);

/// The scale of a cell: the least power of two whose 16 bits hold the range; none: the kernels take none so large.
std::optional<float> cellScale(Extremes range);

} // namespace origo::quantize
