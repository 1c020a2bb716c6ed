#pragma once

#include "ir/StoragePlan.h"
#include "quantize/Scheme.h"

#include <functional>

namespace origo::quantize {

/// An operator that stays as it is although the scheme asks for integers.
struct Unquantized {
  const Operator *op;     ///< may be erased when the run is over
  std::string kind, name; ///< of its first result
  std::string why;
};

/// What Pipeline::quantization asks: decides for each operator how its operands and results are stored, from the ranges
/// that the tensors have (as record-minmax writes them), from the constants, and from the rows of the operators.
/// Changes nothing; scales live as long as the model. Linear in the operators and the constants. `unquantized`, where
/// it is given, gets what stays as it is. An error: a layer of the scheme that does not exist.
std::function<llvm::Expected<StoragePlan>(Model &)> planBy(Scheme scheme,
                                                           std::vector<Unquantized> *unquantized = nullptr);

} // namespace origo::quantize
