#pragma once

#include "eval/RunOperator.h"
#include "eval/exact/Kernels.h"
#include "eval/exact/Recipes.h"

#include "llvm/ADT/DenseMap.h"

#include <chrono>

namespace origo::eval::exact {

/// What a tensor holds: numbers where its type is real, bytes otherwise.
struct Held {
  Tensor tensor; ///< over the bytes of `block`
  struct Block {
    std::vector<Number> numbers;
    std::vector<uint8_t> bytes;
  };
  std::shared_ptr<Block> block;
  bool doubtful = false;      ///< integers that doubles did not decide
  bool usesFunctions = false; ///< numbers of functions without a formula are behind it
  std::string opaque = {};    ///< an operator behind it that has no exact kernel
  bool isSymbolic = true;     ///< and all such are functions of their operands, without effects
  uint64_t symbol = 0;        ///< what it is made of, where it has no value: of equal operands, equal

  explicit operator bool() const { return block != nullptr; }
  /// It is of a type whose elements are not numbers, such as a resource: nothing is known of it.
  bool isUnknown() const {
    return tensor.type == TensorType::RESOURCE || tensor.type == TensorType::VARIANT ||
           tensor.type == TensorType::STRING;
  }
  bool isReal() const { return exact::isReal(tensor.type); }
  llvm::ArrayRef<Number> numbers() const { return block->numbers; }
  llvm::MutableArrayRef<Number> numbers() { return block->numbers; }
};

class Choices;

/// A number in constants that stands for a quotient, as rewrites have taken it (docs/proof.md).
struct Meaning {
  double number, numerator, denominator;
};

/// Bounds of a proof.
struct Limits {
  uint64_t memory = uint64_t(4) << 30; ///< bytes of tensors that live at the same time
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// Computes operators without rounding.
class Machine {
public:
  /// `recipes`: how constants came to be; null: they are what they are.
  Machine(const Arithmetic &math, const Recipes *recipes, const Limits &limits, llvm::ArrayRef<Meaning> meanings = {})
      : math(math), limits(limits), recipes(recipes), meanings(meanings), live(std::make_shared<uint64_t>(0)) {}
  const Arithmetic &math;
  const Limits limits;
  Choices *choices = nullptr; ///< where what operators choose is noted

  /// Room for a tensor that stands for `value`.
  llvm::Expected<Held> make(const Value &value, TensorType type, llvm::ArrayRef<int32_t> shape) const;
  /// A constant of a model, or of an operator that a recipe has.
  llvm::Expected<Held> constant(const Value &value) const;
  /// The results of an operator that calls nothing. Operands that it does without are empty, as are results that it
  /// does not have.
  llvm::Expected<llvm::SmallVector<Held, 2>> compute(const Operator &op, llvm::ArrayRef<Held> operands) const;
  /// The name of an operator that is not computed, and whose results are those of a function of which nothing is known;
  /// none: it is computed. Operands that are variables then hold what it leaves in them.
  std::optional<std::string> withoutKernel(const Operator &op, llvm::ArrayRef<Held> operands) const;
  /// With numbers or bytes of its own.
  llvm::Expected<Held> copyOf(const Held &held) const;
  /// Takes what its doubles did not decide as decided, and no double for further off than a 2⁻⁴⁰ part of the largest:
  /// bounds add up over layers, errors do not. Nothing is taken for equal by that, it is for who leads another run.
  llvm::Error settle(Held &held) const;
  llvm::Error checkTime(const Operator &op) const;
  /// A number for an operator and what it is given, the same for the same.
  uint64_t symbolOf(const Operator &op, llvm::ArrayRef<Held> operands) const;
  /// A tensor of which nothing is known: numbers at random, by the key.
  llvm::Expected<Held> arbitrary(const Value &value, uint64_t key) const;

private:
  const Recipes *recipes;
  llvm::ArrayRef<Meaning> meanings;
  std::shared_ptr<uint64_t> live; ///< bytes of numbers
  mutable std::map<const Recipes::Recipe *, Held> small;
  mutable unsigned depth = 0;

  using Results = llvm::Expected<llvm::SmallVector<Held, 2>>;
  llvm::Expected<Held> ofRecipe(const Recipes::Recipe &recipe, const Value &value) const;
  Results byReference(const Operator &op, llvm::ArrayRef<Held> operands) const;
  Results moved(const Operator &op, llvm::ArrayRef<Held> operands) const;
  Results exactly(const Operator &op, const Kernel *kernel, const ExactKernel &exact,
                  llvm::ArrayRef<Held> operands) const;
  Results opaque(const Operator &op, llvm::ArrayRef<Held> operands, std::string name) const;
  void fill(Held &held, uint64_t key) const;
};

} // namespace origo::eval::exact
