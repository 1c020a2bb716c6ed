#pragma once

#include "ir/Model.h"

#include <deque>

namespace origo {

/// How a tensor of real numbers is to be stored.
struct Storage {
  TensorType type = TensorType::FLOAT32;
  const Quantization *quantization = nullptr; ///< lives as long as the model; null: none
  llvm::SmallVector<Value *, 1> parents = {}; ///< constants that the scales follow from, besides what is stored itself
  bool operator==(const Storage &other) const {
    return type == other.type && sameQuantization(quantization, other.quantization);
  }
};

/// What has been decided (quantize/Plan.h): how each operator is to find its operands and leave its results. Rules ask
/// it; the engine only keeps it for them.
struct StoragePlan {
  StoragePlan() = default;
  StoragePlan(StoragePlan &&) = default;
  StoragePlan &operator=(StoragePlan &&) = default;
  std::deque<Storage> storages; ///< what the rest points to
  /// What becomes of constants: operators find them as they are stored, rounded to what that can hold, or widened again.
  enum class Constants : uint8_t { Stored, Rounded, Widened };
  /// By position; null: stays as it is.
  struct Decision {
    llvm::SmallVector<const Storage *, 4> operands;
    llvm::SmallVector<const Storage *, 1> results;
    Constants constants = Constants::Stored;
  };
  llvm::DenseMap<const Operator *, Decision> operators;
  /// Inputs and outputs of graphs that are to be stored otherwise from now on, in this order.
  llvm::SmallVector<std::pair<Value *, const Storage *>, 4> interface;

  const Decision *of(const Operator &op) const {
    auto found = operators.find(&op);
    return found == operators.end() ? nullptr : &found->second;
  }
};

} // namespace origo
