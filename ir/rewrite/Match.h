#pragma once

#include "ir/rewrite/Expression.h"
#include "ir/rewrite/Moves.h"
#include "ir/rewrite/Parts.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <limits>

namespace origo {

class Rewriter;

/// What a rule answers: applied, or why not.
class [[nodiscard]] RewriteResult {
public:
  static RewriteResult applied() { return {}; }
  static RewriteResult refused(std::string why) {
    RewriteResult result;
    result.text = std::move(why);
    result.refusal = true;
    return result;
  }
  bool isApplied() const { return declined().empty(); }
  bool isRefused() const { return refusal; } ///< the rule breaks a law of rewrites: its author's fault, not the model's
  llvm::StringRef declined() const { return text.empty() ? reason : llvm::StringRef(text); }

private:
  friend RewriteResult decline(const char *reason);
  friend RewriteResult decline(std::string reason);
  llvm::StringRef reason; ///< a literal, which is the rule
  std::string text;
  bool refusal = false;
};
inline RewriteResult decline(const char *reason) {
  RewriteResult result;
  result.reason = reason;
  return result;
}
inline RewriteResult decline(std::string reason) {
  RewriteResult result;
  result.text = std::move(reason);
  return result;
}

/// A place in the source of a rule. (SourceLine is more than clang 14 can do.)
struct SourceLine {
  const char *file;
  unsigned line;
  static constexpr SourceLine current(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

namespace rewrite {

class Extents;

/// Numbers that a tensor certainly lies between; of zeros, the negative one is the lower.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

/// Positions of one operand of what was put together along a dimension.
struct TakenPart {
  unsigned operand;
  int axis;
  int32_t begin, end; ///< in the operand
};

/// What is taken of a tensor in shares of one size, one behind the other along a dimension, with nothing left over.
struct Shares {
  std::vector<Tensor> results;
  int axis;
  bool shrunk; ///< the dimension is left out
};

/// The elements of a small constant of floats. What a rule computes from them stays bound to it.
class Reals {
public:
  size_t size() const { return numbers.size(); }
  double at(size_t i) const;
  /// Integers that were computed from them.
  Integers with(llvm::ArrayRef<int32_t> computed) const { return bound.with(computed); }

private:
  friend class Match;
  llvm::SmallVector<double, 8> numbers;
  Integers bound;
};

/// Weights in binary codes (BinaryCodes.h), as the model's outputs bring them.
struct Codes {
  Tensor scales, binary, sizes, bits;
  bool rowsFirst; ///< of the matrix that the codes are meant for; an operator may have it transposed
};

/// A number that a constant has and that a rule takes for another one, which it was rounded from.
struct Taken {
  double number;
  Quotient means;
};

/// A pattern as it was found, and the only way to replace it. What the pattern matched is consumed: the engine follows
/// from it, and from the expression that takes its place, what everything came from and where everything went.
class Match {
public:
  Match(const Match &) = delete; // it ends with the rule's turn
  /// What a name of the pattern stands for.
  Tensor operator[](const Expr &name) const;
  /// Whether it is part of the match at all: one of several alternatives may be.
  bool has(const Expr &name) const { return bound.contains(name.key()); }
  Node op(const Expr &operation) const;
  /// The same of a name inside `each`, at one of the operands; null where another alternative was found there.
  Tensor at(unsigned operand, const Expr &name) const;
  Node op(unsigned operand, const Expr &operation) const;
  Node root() const { return Node(consumed.front()); }

  // Tests of numbers. They count as reading the constant, which so must be an operand of something consumed. A test is
  // a function without a memory, so that no number goes from a constant into an expression.
  /// The elements of a constant of integers with few of them; none: it is not that.
  std::optional<Integers> integers(Tensor constant);
  /// The same of floats.
  std::optional<Reals> reals(Tensor constant);
  /// The one number that a constant of floats holds, in whatever shape.
  std::optional<Number> number(Tensor constant);
  /// Each element of a dense constant of floats or integers.
  bool every(Tensor constant, bool (*holds)(double));
  /// Is each element of a constant of numbers or truth values this one?
  bool isEvery(Tensor constant, double number);
  /// Is each the float that is nearest to a quotient? The rule takes it for the quotient then.
  bool isEvery(Tensor constant, Quotient number);
  /// The shape of a dense constant with 1 for each dimension along which all is the same; of a big one, as it is.
  llvm::SmallVector<int32_t, 6> shapeOnce(Tensor constant);
  /// Is it one number, and with that of another constant one but for the rounding of both? The rule takes it for the
  /// rest then.
  bool isRestOfOne(Tensor constant, Tensor other);
  /// Does each element of a constant that is stored in 8 bits with one scale stand for zero, and is the scale not so
  /// far above that of `beside` that their sum would lose bits of it?
  bool isStoredZero(Tensor constant, Tensor beside);
  /// The same of what two constants of floats make element by element: the operands and the result.
  bool everyOf(const Expr &folded, bool (*holds)(float, float, float));

  /// Is the model written as .tflite?
  bool writesTflite() const;
  // Facts: what is known of a tensor from who computes it.
  Range range(Tensor tensor) const;
  /// Operators that only move elements and lead to it one after the other, as far as ten.
  unsigned movementsInARow(Tensor tensor) const;
  /// What the reshapes, transposes and repetitions of the match that lead from one tensor to another do with its
  /// elements. None: there are others in between, or it is not known before run time.
  std::optional<Moves> moves(Tensor from, Tensor to);
  /// Is each use of a constant this operand of an operator like `op`, whose result goes into one like the root, with
  /// one reshape in between at most? A rule that gives one of them a changed copy then does so to all, and the constant
  /// need not stay. Of few users, so that the copies, equal ones of which are merged, are few for a while.
  bool isReadLikewise(Tensor constant, Node op) const;
  /// How many of the root's results does a transpose turn back, which undoes this one?
  unsigned turnedBack(const Integers &permutation) const;
  /// Is the root one of those that are better computed with channels last (LayoutPlan.h)?
  bool wantsChannelsLast() const;
  /// Does the root, which moves elements, leave those that it keeps in their order? A transpose does if it moves
  /// dimensions of size 1 only, a strided slice if its strides are positive; false where a constant would have to tell.
  bool keepsOrder();
  /// The root takes a part of what was put together: the only operand of that of which it takes anything, if it is one.
  std::optional<TakenPart> partOf(const Expr &joined);
  /// The same of one of the root's results, if it is all of an operand.
  std::optional<TakenPart> partOf(const Expr &joined, unsigned result);
  /// The root takes the first of several equal shares of a tensor, all of which are taken, none twice. Who takes the
  /// others belongs to the match then.
  std::optional<Shares> shares();
  /// How the plan of the run wants the root to find an operand, or to leave a result.
  Stored operandStored(unsigned position) const;
  Stored resultStored(unsigned position) const;
  llvm::SmallVector<Stored, 0> intermediatesStored() const;
  StoragePlan::Constants constantsStored() const;
  /// How many operands it is to have: where the plan adds one that is absent, more than it has.
  unsigned operandsPlanned() const;
  /// What the plan adds to a constant operand of the root before it is stored: the sum; of an absent one, a list of
  /// what is added. None: it stays what it is.
  std::optional<Expr> corrected(unsigned position) const;
  /// A list of how far each channel of the root's first operand goes in records. None: nobody looked.
  std::optional<Expr> reach() const;
  /// The same of the greatest magnitude of the weights of all operators that read the root's first operand. None:
  /// nobody looked, or the root alone reads it, or others do that are not linear. Their weights count as operands of
  /// what is consumed.
  std::optional<Expr> weightsOfAllReaders();
  /// A list of what each channel of the root's first operand is to be less by. None: nothing.
  std::optional<Expr> shift() const;
  /// How much of it the weights are to take over.
  double migration() const;
  /// The codes of a constant operand that is a matrix. They count as operands of what is consumed, as which the matrix
  /// counts as read. None: nothing says that it is coded.
  std::optional<Codes> codesOf(Tensor matrix);
  /// The elements of a tensor of integers as functions of the sizes of another one (Extents.h), from which and from
  /// constants all of them are computed; what does so belongs to the match then. None: they are not.
  std::optional<Extents> extents(Tensor sizes, Tensor of);
  /// Where the root has it as an operand.
  unsigned positionOf(const Expr &name) const;

  /// `value` takes the place of the root's result.
  RewriteResult replace(const Expr &value, SourceLine where = SourceLine::current());
  /// The same of several results, of the root or of other operators of the pattern.
  RewriteResult replace(std::vector<std::pair<Tensor, Expr>> values, SourceLine where = SourceLine::current());
  /// Each used result of the root becomes a constant.
  RewriteResult foldRoot(SourceLine where = SourceLine::current());
  /// The subgraph that is the `callee`th that the root may call takes its place: effects, constants and all.
  RewriteResult inlineRoot(unsigned callee, SourceLine where = SourceLine::current());

private:
  friend class Build;
  friend class Matcher;
  friend class ::origo::Rewriter;
  explicit Match(Rewriter &rewriter) : rewriter(rewriter) { Turn::begin(); }
  /// What became of the match, held against what the rule says.
  RewriteResult answer(RewriteResult said) const;
  bool isAll(Tensor constant, double number) const;
  bool repeats(Chain &chain, Operator &op);
  /// The first element of a dense constant of floats that has any.
  std::optional<float> firstOf(Tensor constant) const;
  /// Are the shapes of all operands known?
  bool isStatic() const;
  const StoragePlan::Reach *reachPlanned() const;
  static Expr learnedList(const Summand &numbers);

  Rewriter &rewriter;
  struct Names {
    llvm::SmallDenseMap<const Expr::Node *, Value *, 8> bound;
    llvm::SmallDenseMap<const Expr::Node *, Operator *, 8> operations;
  };
  Names names() const { return {bound, operations}; }
  void setNames(const Names &names) {
    bound = names.bound;
    operations = names.operations;
  }
  std::vector<Names> each; ///< by operand
  bool applied = false;
  llvm::SmallDenseMap<const Expr::Node *, Value *, 8> bound;
  llvm::SmallDenseMap<const Expr::Node *, Operator *, 8> operations;
  llvm::SmallVector<Operator *, 8> consumed; ///< the root first
  mutable llvm::SmallVector<Operator *, 4> inspected;
  llvm::SmallVector<Value *, 4> read; ///< constants
  llvm::SmallVector<Taken, 1> taken;
  llvm::SmallVector<Value *, 0> lent; ///< constants that the model's outputs say are to stand for an operand
};

/// How far a pattern got that was not found.
struct Furthest {
  unsigned parts = 0;
  std::string expected;
};

/// Looks for `pattern` at the result of `root`. False: it is not there, or looking took more than `budget` steps.
class Matcher {
public:
  Matcher(Match &match, Furthest *furthest = nullptr) : match(match), furthest(furthest) {}
  bool find(const Expr &pattern, Operator &root);
  bool outOfBudget() const { return steps > budget; }

private:
  using Next = llvm::function_ref<bool()>;
  Match &match;
  Furthest *furthest;
  static constexpr unsigned budget = 20000;
  unsigned steps = 0, parts = 0;
  unsigned wide = 0;                    ///< constants of many elements that are one number
  llvm::SmallVector<Value *, 4> closed; ///< results that only the match may use

  bool matches(const Expr &pattern, Value *value, Next next);
  bool matchesOperation(const Expr &pattern, Operator &op, Value *value, Next next);
  bool matchesOperands(const Expr::Node &node, Operator &op, unsigned i, Next next);
  bool matchesEach(const Expr &pattern, Operator &op, unsigned i, Next next);
  bool matchesFactors(Op code, llvm::ArrayRef<const Expr *> factors, Value *value, Next next);
  bool matchesSplit(Op code, llvm::ArrayRef<const Expr *> factors, Operator &op, Next next);
  bool bind(const Expr &pattern, Value *value, Next next);
  bool isClosed() const;
  bool isNumber(Value *value, const Expr::Node &node, double &found);
  bool miss(llvm::function_ref<std::string()> expected);
};

} // namespace rewrite
} // namespace origo
