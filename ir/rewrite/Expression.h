#pragma once

#include "ir/rewrite/Graph.h"

#include <memory>

/// Graphs as equations. The same expressions are patterns, which a matcher looks for, and what is to take the place of
/// what was found:
///
///     auto x = any();
///     auto gate = 1 + tanh(near(0.7978845608) * (x + near(0.044715) * (pow(x, 3) | x * square(x))));
///     0.5 * x * gate   becomes   gelu(x)
///
/// As a pattern, a name that stands twice is the same value; sums and products match in any order and any association;
/// an operator has no fused activation unless the pattern says that it may.
namespace origo::rewrite {

/// One number divided by another, exactly.
struct Quotient {
  double numerator = 0, denominator = 1;
  double rounded() const { return numerator / denominator; }
  /// Is it this number? Of numerators and denominators that are floats or small integers.
  bool is(double number) const { return number * denominator == numerator; }
};

class Expr {
public:
  enum class Kind : uint8_t {
    Any,
    Constant,
    Number,
    Operation,
    Either,
    Through,
    Bound,
    Integers,
    Shape,
    Fold,
    Clone,
    Result,
    Learned,
    Variable
  };
  /// Who may use the result of an operator, besides the match.
  enum class Users : uint8_t { Any, One, None };
  struct Option {
    llvm::StringLiteral name;
    int64_t value;
    double real = 0;
    Tensor parent = {}; ///< the constant that it was read from
  };
  struct Node;

  Expr(double number);
  Expr(Tensor tensor);
  Expr(const rewrite::Integers &integers);
  const Node *operator->() const { return node.get(); }
  const Node *key() const { return node.get(); }

  // Refinements; each gives a changed copy, so they come before the name is given.
  Expr once() const;        ///< pattern: its result is used once
  Expr inside() const;      ///< pattern: its result is used by the match alone
  Expr mayActivate() const; ///< pattern: with a fused activation or without
  Expr operand(llvm::StringLiteral name, Expr value) const;
  Expr operand(unsigned position, Expr value) const;
  Expr with(llvm::StringLiteral option, int64_t value) const;
  Expr with(llvm::StringLiteral option, Number value) const;
  Expr withReal(llvm::StringLiteral option, double value) const; ///< replacement
  Expr activation(Activation value) const { return with("fused_activation_function", static_cast<int64_t>(value)); }
  /// Its result has the type and quantisation of one tensor and the shape of another, where inference cannot tell.
  Expr as(Tensor typeAndQuantization, Tensor shape) const;
  Expr as(Tensor like) const { return as(like, like); }
  /// Of a clone: its result `i` is stored like this, and has the shape of the original's.
  Expr storing(unsigned i, Stored stored) const;
  /// Of a clone: tensors without elements that carry scales of what it computes within.
  Expr intermediates(llvm::ArrayRef<Stored> stored) const;
  Expr synthetic(SyntheticReason reason) const;
  /// Pattern: each operand matches, by itself; what stands for a name at operand i is m.at(i, name).
  Expr each(Expr operand) const;
  /// Replacement: it has so many results, all of which inference has to know.
  Expr results(unsigned count) const;
  // Names of operands.
  Expr filter(Expr value) const { return operand("filter", value); }
  Expr bias(Expr value) const { return operand("bias", value); }

private:
  friend class Match;
  friend struct Notation; ///< the functions below, which are all that makes nodes
  explicit Expr(Node node);
  std::shared_ptr<const Node> node;
  template <class F> Expr changed(F change) const;
};

struct Expr::Node {
  explicit Node(Kind kind) : kind(kind) {}

  Kind kind;
  bool optional = false;          ///< Any, Constant: may be absent
  double tolerance = 0;           ///< Number: by how much of itself another one may differ
  double number = 0;              ///< Number
  Quotient means;                 ///< Number: what one that is near it is taken for
  llvm::SmallVector<Op, 2> codes; ///< Operation, Through: one of these
  Trait trait = Trait::None;      ///< Operation: or any with this trait
  std::vector<Expr> operands;     ///< Operation; Either: the alternatives; Through, Fold: one
  llvm::SmallVector<std::pair<llvm::StringLiteral, Expr>, 2> named; ///< Operation, Clone: operands by name
  llvm::SmallVector<std::pair<unsigned, Expr>, 2> placed;           ///< Clone: operands by position
  llvm::SmallVector<Option, 2> options;                             ///< Operation: has, or gets; Clone: gets
  llvm::StringRef customCode;                                       ///< Operation CUSTOM
  Users users = Users::Any;
  bool mayActivate = false;            ///< Operation: a fused activation is no hindrance
  unsigned result = 0;                 ///< Result: which one of the operation
  unsigned resultCount = 1;            ///< Operation that takes a place
  std::shared_ptr<const Expr> each;    ///< Operation: what each operand is
  Tensor bound;                        ///< Bound; Shape: whose
  Summand learned = {};                ///< Learned: from data, of the shape `sizes`
  rewrite::Integers integers;          ///< Integers
  llvm::SmallVector<int32_t, 6> sizes; ///< Shape
  TensorType integerType = TensorType::INT32;
  std::vector<Expr> originals;                ///< Clone: operations of the pattern, all of which do the same
  Tensor typeOf, shapeOf;                     ///< Operation, Clone: of its result, where the rule says it
  llvm::SmallVector<Stored, 1> stored;        ///< Operation, Clone: of its results, likewise; Variable: of itself
  llvm::SmallVector<Stored, 0> intermediates; ///< Clone
  std::optional<SyntheticReason> synthetic;   ///< Operation: stands for nothing in the source
};

/// A number as names and messages have it, with six digits.
std::string shown(double number);

// What patterns look for.
Expr any();                ///< any value
Expr optional();           ///< any value, or an operand that is left out
Expr constant();           ///< a constant whose bytes are at hand, dense
Expr optionalConstant();   ///< such a constant, or an operand that is left out
Expr near(double number);  ///< this number up to one rounding to float16; a number alone is exactly that
Expr about(double number); ///< this number up to the last digits of float32, as a quotient or a product may have it
/// The same of a quotient that no float is. What the rule takes for it, and is not, is an assumption of the rewrite.
Expr near(Quotient number);
Expr about(Quotient number);
Expr operator|(Expr a, Expr b);
/// `x`, or the result of one of these operators on it.
Expr maybe(llvm::ArrayRef<Op> codes, Expr x);
/// An operator of one of these kinds, whose leading operands match.
Expr anyOf(llvm::ArrayRef<Op> codes, std::vector<Expr> operands = {});
/// An operator with this trait in its row.
Expr anyWith(Trait trait, std::vector<Expr> operands = {});

/// One of several results of an operator, in a pattern or in what takes its place.
Expr result(Expr operation, unsigned index);

// What takes its place.
/// A constant, computed from constants by the operators of the expression.
Expr fold(Expr expression);
/// An operator of the pattern with other operands or options: it stands for that one. Of several that do the same: for
/// all of them.
Expr clone(Expr original);
Expr clone(std::vector<Expr> originals);
/// The root of the match, where the pattern has several of which one is it.
Expr cloneRoot();
/// The same numbers stored otherwise, rounded to what that can hold: an operator QUANTIZE, DEQUANTIZE where they become
/// float32, or, between floats, CAST.
Expr store(Expr x, Stored stored);
/// A variable in the place of one that the root alone has, stored otherwise.
Expr variable(Tensor like, Stored stored);
/// The same numbers as they were, with type, shape and name of a tensor: an operator DEQUANTIZE, or QUANTIZE where the
/// tensor is no float.
Expr load(Expr x, Tensor like);
/// A constant that lists sizes or positions that a rule knows from shapes.
Expr list(llvm::ArrayRef<int32_t> numbers);
inline Expr shapeOf(Tensor tensor) { return list(tensor.shape()); }

/// An operator of the graph.
Expr op(Op code, std::vector<Expr> operands);
Expr custom(llvm::StringRef name, std::vector<Expr> operands);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr x);
#define ORIGO_FUNCTION(name, code)                                                                                     \
  inline Expr name(Expr x) { return op(Op::code, {x}); }
ORIGO_FUNCTION(tanh, TANH)
ORIGO_FUNCTION(rsqrt, RSQRT)
ORIGO_FUNCTION(sqrt, SQRT)
ORIGO_FUNCTION(square, SQUARE)
ORIGO_FUNCTION(relu, RELU)
ORIGO_FUNCTION(relu6, RELU6)
ORIGO_FUNCTION(hardSwish, HARD_SWISH)
ORIGO_FUNCTION(gelu, GELU)
ORIGO_FUNCTION(cast, CAST)
#undef ORIGO_FUNCTION
#define ORIGO_FUNCTION(name, code)                                                                                     \
  inline Expr name(Expr x, Expr y) { return op(Op::code, {x, y}); }
ORIGO_FUNCTION(pow, POW)
ORIGO_FUNCTION(maximum, MAXIMUM)
ORIGO_FUNCTION(minimum, MINIMUM)
ORIGO_FUNCTION(squaredDifference, SQUARED_DIFFERENCE)
ORIGO_FUNCTION(mean, MEAN)
ORIGO_FUNCTION(reshape, RESHAPE)
ORIGO_FUNCTION(transpose, TRANSPOSE)
ORIGO_FUNCTION(broadcastTo, BROADCAST_TO)
ORIGO_FUNCTION(gather, GATHER)
ORIGO_FUNCTION(rmsNorm, RMS_NORM)
#undef ORIGO_FUNCTION

} // namespace origo::rewrite
