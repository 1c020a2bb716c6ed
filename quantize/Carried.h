#pragma once

#include "ir/StoragePlan.h"

#include <functional>

namespace origo::quantize {

/// What a model says itself of how its tensors are to be stored: floats that are rounded by a QUANTIZE and a DEQUANTIZE
/// behind each other, or by FAKE_QUANT, and constants that are integers behind a DEQUANTIZE. It computes with floats.
struct CarriedScales {
  llvm::DenseMap<const Value *, Storage> storages;
  llvm::DenseMap<const Value *, const char *> why; ///< of tensors that are rounded, but have no storage
  /// Nobody else says a range: what the model does not say stays float.
  bool alone = true;

  const Storage *of(const Value &value) const {
    auto found = storages.find(&value);
    return found == storages.end() ? nullptr : &found->second;
  }
};

/// Does it round tensors that it computes, or its inputs?
bool carriesScales(const Model &model);

/// Stores what FAKE_QUANT rounds to as a QUANTIZE and a DEQUANTIZE do, for the rule of that name.
llvm::Expected<StoragePlan> planFakeQuants(Model &model);

/// Constants that are integers behind a DEQUANTIZE, and maybe moved, by who reads them. They become floats before a
/// plan is made, and the scales are theirs then.
struct CarriedConstant {
  Operator *user;
  unsigned operand;
  Storage storage;
};

/// What a model says of tensors that are computed goes to `scales`, of constants into the list. What only moves
/// numbers, or takes the greatest of some, has the scale of what it moves, in both directions. Integers without a sign
/// count as the same ones with a sign. Linear.
std::vector<CarriedConstant> readCarried(Model &model, CarriedScales &scales);

/// When the constants are floats.
void keepCarried(llvm::ArrayRef<CarriedConstant> constants, CarriedScales &scales);

} // namespace origo::quantize
