#pragma once

#include "ir/Model.h"

/// What a kernel takes, as its row says it: types, scales and dimensions of operands and results, and conditions.
///
///     "i8{t}[n,h,w,c], i8|i4{t|c0}[o,y,x,i], i32[#o]? -> i8{t}[n,_,_,o]"
///
/// Types have the short names of the text form; `any` is each type of whole bytes, `same` the type of operand 0,
/// `same1` of operand 1. Behind them, in braces, how it may be quantised: `t` one scale for the tensor, `c0` one for
/// each index of axis 0 (`c-1` of the last one, `c` of any), `b` scales for blocks, `n` not at all; without braces the
/// kernel takes the numbers as they are. In brackets its dimensions: equal names are equal, `_` is any, a number
/// itself, `..` any number of dimensions, `#o` as many elements as `o` in any shape. `?` may be absent, `...` the last
/// one repeats.
namespace origo::eval {

struct SlotRule {
  llvm::SmallVector<TensorType> types;
  std::optional<unsigned> sameAs; ///< or the type of this operand
  bool optional = false;

  enum Scales : uint8_t { None = 1, One = 2, Channels = 4, Blocks = 8 };
  uint8_t scales = 0;      ///< any of Scales; 0: the kernel does not look at them
  std::optional<int> axis; ///< of Channels, from the end if it is negative; nothing: any

  struct Dim {
    int name = -1;     ///< those of the same number are equal; −1: none
    int32_t size = -1; ///< −1: any
  };
  std::optional<llvm::SmallVector<Dim, 5>> dims; ///< nothing: any shape
  bool moreBefore = false;                       ///< any number of dimensions before `dims`
  int elements = -1;                             ///< as many as the dimension of this name

  bool accepts(const Value *value, llvm::ArrayRef<const Value *> operands) const;
};

struct KernelSignature {
  explicit KernelSignature(llvm::StringRef text); ///< aborts if a row is wrong
  llvm::SmallVector<SlotRule, 4> operands, results;
  bool operandsRepeat = false, resultsRepeat = false;
  llvm::SmallVector<llvm::StringRef, 8> names; ///< of dimensions

  bool acceptsTypes(const Operator &op) const;
  /// Null where there can be no such operand or result.
  const SlotRule *slot(bool result, unsigned i) const;
};

/// What a row says of options, or of a certain scale.
struct Condition {
  enum class Kind : uint8_t { Among, Within, NotBoth, ResultScale, KeepsQuantization };
  Kind kind;
  llvm::StringRef option = {}, other = {};           ///< fields of the options
  llvm::SmallVector<llvm::StringRef, 2> values = {}; ///< enumerators, or "true" and "false"
  double min = 0, max = 0;
  float scale = 0;
  int64_t zeroPoint = 0;
};
inline Condition is(llvm::StringRef option, llvm::ArrayRef<llvm::StringRef> values) {
  return {Condition::Kind::Among, option, {}, {values.begin(), values.end()}};
}
inline Condition within(llvm::StringRef option, double min, double max) {
  return {Condition::Kind::Within, option, {}, {}, min, max};
}
inline Condition notBoth(llvm::StringRef option, llvm::StringRef other) {
  return {Condition::Kind::NotBoth, option, other};
}
/// Result 0 has this scale and zero point, whatever the model would like.
inline Condition resultScale(float scale, int64_t zeroPoint) {
  return {Condition::Kind::ResultScale, {}, {}, {}, 0, 0, scale, zeroPoint};
}
/// Result 0 is quantised as operand 0 is.
inline Condition keepsQuantization() { return {Condition::Kind::KeepsQuantization}; }

/// An option as a number; of an enumeration or a truth value its name, too.
struct OptionValue {
  double number;
  llvm::StringRef name;
};
/// The default where the operator has no table, or one of another kind.
OptionValue optionOf(const Operator &op, const wire::Field &field);

/// What stands in the way of an operator.
struct Misfit {
  int operand = -1; ///< −1: not one operand's
  std::string message, expected = {}, actual = {};
};

struct Kernel;
class KernelContext;
/// Whether the kernel computes an operator of its types: how it is quantised, its options, and its shapes as far as
/// they are known. Engines ask before anything runs, and circle-check says the same of a file.
std::optional<Misfit> admits(const Kernel &kernel, const Operator &op);
/// Whether it computes these shapes.
std::optional<Misfit> admitsShapes(const Kernel &kernel, const KernelContext &context);

} // namespace origo::eval
