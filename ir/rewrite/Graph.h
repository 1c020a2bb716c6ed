#pragma once

#include "ir/Activation.h"
#include "ir/StoragePlan.h"

#include "llvm/ADT/Twine.h"

namespace origo {
class Rewriter;
}

/// The graph as rules see it: to be read only, and only where a pattern has matched. There is no way from a tensor to
/// who computes or uses it; what a rule may know from further away are the facts that a match offers.
namespace origo::rewrite {

using Op = BuiltinOperator;
using Activation = circle::ActivationFunctionType;

/// The turn of a match, of which there is one at a time in a thread. What an earlier match gave out answers nothing any
/// more. A question that has no answer is a mistake of the rule's author, for which the engine refuses the rule.
class Turn {
  friend class Build;
  friend class Integers;
  friend class Match;
  friend class Node;
  friend class Reals;
  friend class Stored;
  friend class Tensor;
  friend class ::origo::Rewriter;
  struct State;
  static State &state();
  static void begin();
  static uint64_t now();
  /// The first one of a turn is what the refusal says.
  static void mistake(const llvm::Twine &text);
  static const std::string &mistaken(); ///< empty: nothing
  /// Whether what a match gave out is its own; else that is a mistake.
  static bool isNow(uint64_t turn, const char *what);
};

/// A value of the graph: the operand or result of an operator that was matched, while it is the turn of that match. An
/// operand that is absent, or beyond those that there are, has no type, no shape and no bytes, so that no condition
/// holds of it.
class Tensor {
public:
  Tensor() = default;
  explicit operator bool() const { return handle != nullptr; }
  bool operator==(const Tensor &other) const { return handle == other.handle; }

  TensorType type() const { return described().type; }
  llvm::ArrayRef<int32_t> shape() const { return described().shape; }
  llvm::ArrayRef<int32_t> statedShape() const; ///< with −1 where a size is known at run time only
  int rank() const { return described().rank(); }
  int32_t lastDimension() const { return described().shape.empty() ? 0 : described().shape.back(); }
  /// Its shape is known and has no dynamic dimension.
  bool isStatic() const { return described().isStatic(); }
  /// The same but for one dimension at most, where no other one is zero, so that the number of elements tells it; or
  /// but for the first one, which may be that of an open batch.
  bool isStaticButOne() const;
  bool isStaticButBatch() const;
  std::optional<uint64_t> elementCount() const { return described().elementCount(); }
  bool isFloat() const { return described().type == TensorType::FLOAT32; }
  bool isConstant() const { return described().isConstant(); }
  bool isOutput() const { return described().isInterface(); }
  /// It keeps what it holds from one run to the next.
  bool isVariable() const { return described().isVariable; }
  /// A constant whose bytes are at hand and fill its shape.
  bool isDenseConstant() const;
  uint64_t payloadSize() const { return described().payload().size(); }
  /// A big constant that would have to stay for other users if one of them had a changed copy.
  bool isShared() const { return payloadSize() > 4096 && !described().hasOneUse(); }
  /// Each run unpacks it from a constant.
  bool isPackedConstant() const;
  /// Of a constant: all that keeps it in the file is this one use.
  bool hasOneUse() const { return described().hasOneUse(); }
  bool isQuantized() const { return described().quantization && described().quantization->quantized(); }
  /// Quantised with one parameter for all elements, or not at all, so that moving them changes nothing.
  bool isPerTensor() const;
  /// The dimension that its scales go along, if there are several.
  std::optional<int32_t> channelDimension() const;
  /// It can hold each number that `other` can: of integers with the same scale for all elements.
  bool holdsAllOf(Tensor other) const;
  /// The same dimensions, known or not.
  bool hasShapeOf(Tensor other) const;
  bool hasTypeOf(Tensor other) const { return described().type == other.described().type; }
  bool hasQuantizationOf(Tensor other) const {
    return sameQuantization(described().quantization, other.described().quantization);
  }
  /// Type, shape and quantisation are the same.
  bool isLike(Tensor other) const { return hasTypeOf(other) && hasShapeOf(other) && hasQuantizationOf(other); }

private:
  friend class Build;
  friend class Integers;
  friend class Match;
  friend class Matcher;
  friend class Node;
  friend class Expr;
  friend class Stored;
  explicit Tensor(Value *value) : handle(value), turn(Turn::now()) {}
  Value *handle = nullptr;
  uint64_t turn = 0;
  Value *value() const { return handle && Turn::isNow(turn, "a tensor") ? handle : nullptr; }
  const Value &described() const;
};

/// An operator that a pattern has matched, likewise.
class Node {
public:
  Op code() const { return op()->code; }
  const OperatorInfo &info() const { return *op()->info(); }
  bool has(Trait trait) const { return op()->info() && op()->info()->has(trait); }
  unsigned operandCount() const { return op()->numOperands(); }
  llvm::StringRef resultName() const { return op()->result() ? op()->result()->name : llvm::StringRef(); }
  /// It does no work of the source.
  bool isSynthetic() const { return op()->synthetic; }
  unsigned resultCount() const { return static_cast<unsigned>(op()->results().size()); }
  Tensor operand(unsigned i) const { return Tensor(op()->operand(i)); }
  Tensor result(unsigned i = 0) const { return Tensor(op()->result(i)); }
  /// By the name in the operator's row; null where the operator leaves it out.
  Tensor operand(llvm::StringRef name) const { return operand(position(name)); }
  unsigned position(llvm::StringRef name) const; ///< beyond all operands, and a mistake: the row has no such name
  /// A scalar option by its name in the schema, its default where the file says nothing.
  int64_t option(llvm::StringRef name) const;
  double realOption(llvm::StringRef name) const; ///< of a float field
  bool hasOptionsOf(Node other) const;           ///< of an operator of the same kind
  /// Fused into it; NONE where its options have no such field.
  Activation activation() const { return activationOf(*op()); }
  /// The name and the options, in bytes, of an operator that is not builtin.
  llvm::StringRef customCode() const { return op()->customCode(); }
  llvm::ArrayRef<uint8_t> customOptions() const { return op()->customOptions().bytes(); }
  /// Are the types known of what the subgraphs that it calls make, and do these call nothing but branches?
  bool callsDetermined() const;
  /// How many operators the subgraph has that it calls last.
  size_t calledOperators() const;

private:
  friend class Build;
  friend class Match;
  friend class Matcher;
  explicit Node(Operator *op) : handle(op), turn(Turn::now()) {}
  Operator *handle;
  uint64_t turn;
  Operator *op() const; ///< one without operands where it is another match's turn
  const wire::Field *field(llvm::StringRef option) const;
};

unsigned positionOf(const OperatorInfo &row, llvm::StringRef name);

/// With −1 where a size is known at run time only.
llvm::ArrayRef<int32_t> statedShape(const Value &value);

/// The elements of a small constant of integers. A rule may test them; what it computes from them stays bound to the
/// constants that they came from.
class Integers {
public:
  size_t size() const { return known().size(); }
  bool operator==(const Integers &other) const { return known() == other.known(); }
  int64_t at(size_t i) const;
  bool is(size_t i, int64_t number) const { return at(i) == number; }
  bool are(llvm::ArrayRef<int64_t> expected) const { return known() == expected; }
  bool areAll(int64_t number) const {
    return llvm::all_of(known(), [&](int64_t one) { return one == number; });
  }
  /// Each is the one before and one more.
  bool countUp() const;
  bool isPermutation(size_t rank) const;
  bool isSorted() const;
  bool allPositive() const;
  /// As a permutation: of a tensor of this shape, it leaves the dimensions that are not 1 in their order.
  bool keepsOrderOf(llvm::ArrayRef<int32_t> shape) const;
  /// The permutation that undoes this one.
  Integers inverse() const;
  /// The sizes that a permutation gives to a tensor with these.
  Integers permuted(llvm::ArrayRef<int32_t> shape) const;
  /// What a permutation picks.
  template <class T> std::vector<T> chosen(const std::vector<T> &from) const {
    std::vector<T> picked;
    for (int64_t number : known())
      picked.push_back(from[number]);
    return picked;
  }
  /// As axes of a tensor of this rank, counted from the end where negative: exactly the last one.
  bool isLastAxisOf(int rank) const;
  /// As axes of what a permutation gives: those before it, in the same order.
  Integers through(const Integers &permutation) const;
  /// As a permutation: that of the dimensions that are left without some of the result's.
  Integers without(llvm::ArrayRef<int32_t> axes) const;
  /// With those that 32 bits do not hold as the nearest that they do, which no axis and no size is.
  std::vector<int32_t> list() const;
  /// Others that were computed from these.
  Integers with(llvm::ArrayRef<int32_t> others) const;
  /// These, computed from another constant as well.
  Integers boundTo(const Integers &other) const;
  /// As axes of a tensor of this rank: those, each once and in order. None: one lies outside.
  std::optional<llvm::SmallVector<int32_t, 6>> axesOf(int rank) const;

private:
  friend class Build;
  friend class Match;
  friend class Expr;
  friend class Reals;
  llvm::SmallVector<int64_t, 8> numbers;
  llvm::SmallVector<Tensor, 1> parents;
  llvm::ArrayRef<int64_t> known() const;
};

/// How a plan wants a tensor to be stored: type and quantisation. Null: as it is. What its scales follow from stays
/// bound to it.
class Stored {
public:
  Stored() = default;
  explicit operator bool() const { return storage != nullptr; }
  TensorType type() const;
  /// Is the tensor stored like that already?
  bool isOf(Tensor tensor) const;

private:
  friend class Build;
  friend class Match;
  explicit Stored(const Storage *storage) : storage(storage), turn(Turn::now()) {}
  const Storage *storage = nullptr;
  uint64_t turn = 0;
};

/// A number that was read from a constant; bound to it likewise.
class Number {
private:
  friend class Match;
  friend class Expr;
  double value = 0;
  Tensor parent;
};

} // namespace origo::rewrite
