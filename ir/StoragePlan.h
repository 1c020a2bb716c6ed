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

/// Numbers that data tell to add to a constant before it is stored.
struct Summand {
  Payload numbers;               ///< floats, of the constant's shape
  bool choosesNeighbour = false; ///< what is stored is one of the two numbers beside the constant's, if not the nearer
  llvm::SmallVector<Value *, 1> parents = {}; ///< constants that they follow from, besides the data
};

/// What has been decided (quantize/Plan.h): how each operator is to find its operands and leave its
/// results. Rules ask it; the engine only keeps it for them.
struct StoragePlan {
  StoragePlan() = default;
  StoragePlan(StoragePlan &&) = default;
  StoragePlan &operator=(StoragePlan &&) = default;
  std::deque<Storage> storages; ///< what the rest points to
  /// What becomes of constants: operators find them as they are stored, rounded to what that can hold, or widened
  /// again.
  enum class Constants : uint8_t { Stored, Rounded, Widened };
  /// By position; null: stays as it is.
  struct Decision {
    llvm::SmallVector<const Storage *, 4> operands;
    llvm::SmallVector<const Storage *, 1> results;
    llvm::SmallVector<const Storage *, 0> intermediates;         ///< scales of sums within; null: of none
    llvm::SmallVector<std::pair<unsigned, Summand>, 0> summands; ///< of operands, by position
    Constants constants = Constants::Stored;
  };
  llvm::DenseMap<const Operator *, Decision> operators;
  /// How far each channel of an operator's first operand goes in records, as floats; where several linear operators
  /// read it, also the greatest magnitude that any of their filters has for the channel. And how much of the first
  /// their weights are to take over: from 0 to 1.
  struct Reach {
    Summand goes;
    std::optional<Summand> allReaders = {};
  };
  llvm::DenseMap<const Operator *, Reach> reaches;
  double migration = 0.5;
  /// For operators whose first operand is to be less by a number for each channel: these.
  llvm::DenseMap<const Operator *, Summand> shifts;
  /// Inputs and outputs of graphs that are to be stored otherwise from now on, in this order.
  llvm::SmallVector<std::pair<Value *, const Storage *>, 4> interface;

  /// Another operator is in its place.
  void forget(const Operator *op) {
    operators.erase(op);
    reaches.erase(op);
    shifts.erase(op);
  }
  const Decision *of(const Operator &op) const {
    auto found = operators.find(&op);
    return found == operators.end() ? nullptr : &found->second;
  }
};

} // namespace origo
