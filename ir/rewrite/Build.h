#pragma once

#include "ir/rewrite/Rewriter.h"

namespace origo {
struct ResultType;
}

namespace origo::rewrite {

/// What is to take the place of a match: first made beside the graph, then held against the laws, and only then put in.
class Build {
public:
  Build(Match &match, SourceLine where) : match(match), engine(match.rewriter), model(engine.model), where(where) {}

  RewriteResult replace(llvm::ArrayRef<std::pair<Tensor, Expr>> values);
  RewriteResult foldRoot();
  /// Whether something holds of each element of the operands and the result of an operator on two float constants.
  bool everyElement(const Expr &expression, llvm::function_ref<bool(float, float, float)> holds);
  /// Whether something holds of each use of a value; nothing is looked at behind the first of which it does not.
  static bool everyUse(const Value &value, llvm::function_ref<bool(const Use &)> holds);

private:
  /// An operator that is not in the graph yet.
  struct Created {
    Operator *op;
    llvm::SmallVector<Operator *, 2> originals; ///< that it is a changed copy of
    llvm::SmallVector<Operator *, 4> standsFor = {};
    bool sameOptions = false; ///< as the original
    bool exact = false;
    std::optional<SyntheticReason> synthetic = {};
    llvm::SmallVector<Value *, 0> intermediates = {};
    IdSet movedPast = {};
  };
  /// What a constant that was made here comes from.
  struct Made {
    llvm::SmallVector<Value *, 4> parents = {}; ///< constants of the graph whose numbers are in it
    Value *base = nullptr;                      ///< the one that it stands for, changed by `steps`
    llvm::SmallVector<Step, 2> steps = {};
    bool exact = true;
    bool literal = false; ///< made of what a rule knows, not of constants
    bool nudges = false;  ///< a summand that makes less than a step of what it is added to
  };
  struct Replaced {
    Value *old, *with;
    const Operator *of = nullptr; ///< who computed `old`, once what takes its place is in the graph
  };
  /// An operand that what takes the operator's place does without.
  struct Dropped {
    Operator *op;
    unsigned position;
    Value *value;
    UnneededReason reason;
  };

  Match &match;
  Rewriter &engine;
  Model &model;
  SourceLine where;
  std::string declined;
  llvm::SmallDenseMap<const Expr::Node *, Value *, 8> built;
  llvm::SmallPtrSet<const Value *, 8> asked; ///< results of operators of the pattern that the rule uses as they are
  llvm::SmallVector<Created, 4> created;
  llvm::SmallDenseMap<const Operator *, unsigned, 8> places; ///< in it
  llvm::SmallDenseMap<const Value *, Made, 4> made;
  llvm::SmallVector<Value *, 4> constants; ///< in the order in which they were made
  llvm::SmallVector<Replaced, 2> replaced;
  llvm::SmallVector<Operator *, 2> roots;
  llvm::SmallVector<Operator *, 8> consumed; ///< roots first
  /// By lineage of the root: those of each consumed operator on the way to it. There are several where it is used
  /// twice.
  std::vector<llvm::SmallDenseMap<const Operator *, llvm::SmallVector<uint32_t, 1>, 8>> ways;
  llvm::SmallVector<Dropped, 2> dropped;
  llvm::SmallVector<Operator *, 4> scratch; ///< operators that do not go into the graph

  // Making.
  Value *fail(llvm::StringRef reason) {
    if (declined.empty())
      declined = reason.str();
    return nullptr;
  }
  /// The author's, for which the rule is refused.
  Value *mistake(const llvm::Twine &text) {
    Turn::mistake(text);
    return fail(Turn::mistaken());
  }
  Value *build(const Expr &expression, bool folding, llvm::StringRef label);
  /// What an operator of that kind is for that stands for nothing.
  static SyntheticReason bridgeOf(BuiltinOperator code);
  bool hasOperands(const OperatorInfo &row, llvm::ArrayRef<Value *> operands, const Operator *base);
  Value *buildOperation(const Expr &expression, bool folding, llvm::StringRef label);
  Value *literal(Payload payload, TensorType type, llvm::ArrayRef<int32_t> shape, llvm::StringRef label,
                 llvm::ArrayRef<Value *> parents = {});
  Operator *detached(Op code, llvm::ArrayRef<Value *> operands);
  bool setOptions(Operator &op, llvm::ArrayRef<Expr::Option> options);
  bool setResults(Operator &op, const Expr::Node &node, const Operator *base, llvm::StringRef label);
  static void keepQuantization(Operator &op);
  bool describeResults(Operator &op, const Expr::Node &node, const Operator *base);
  void state(Value &value, const ResultType &type);
  Value *folded(Operator &op, llvm::StringRef label);
  Made descent(const Operator &op) const;
  using Steps = llvm::SmallVector<Step, 2>;
  static std::optional<std::pair<Step::Term, int>> termOf(const Value &operand, const Made &from, const Value &result);
  static std::optional<Steps> affine(const Operator &op, unsigned i, const Made &other);
  static std::optional<Steps> scaled(const Operator &op, unsigned i);
  static Steps broadcast(const Value &from, const Value &to);
  static std::optional<Steps> stepsFrom(const Operator &op, unsigned i, llvm::ArrayRef<Made> operands);
  Value *variable(Value &like, const Storage &storage);
  Value *pendingResult(llvm::StringRef label);
  void abandon();

  // Judging.
  RewriteResult finish();
  std::string lawsBroken();
  bool standsTwice() const;
  std::optional<UnneededReason> whyUnneeded(const Operator &op, unsigned position) const;
  bool isTimesZero(const Operator &op, unsigned position) const;
  bool isBranchNotTaken(const Operator &op, unsigned position) const;
  bool isNotInSlice(const Operator &op, unsigned position) const;
  bool isTakenAway(const Operator &op, unsigned position) const;
  const Created *createdBy(const Operator *op) const;
  const Created *maker(const Value *value) const { return value ? createdBy(value->producer()) : nullptr; }
  bool sharesOperand(const Created &copy) const;
  std::string widthRefusal();
  std::string targetRefusal();
  const char *effectsRefusal();
  bool keepsState(const Operator &root) const;
  const char *misfit(const Replaced &item) const;
  void leaveKept();
  void assignWork();
  static bool isBroadcast(const Value &from, const Made &constant, const Value &to);
  bool isExact(const Created &item) const;
  void noteMoved();
  void noteUndone(const Value &old, const Value &with);
  Fate fateOf() const;

  // Putting in.
  void apply();
  Operator &putIn(Created &item, Operator &before, Destinations &into);
  void findWays();
  uint32_t lineageOf(const Value &operand, uint32_t way) const;
  llvm::SmallVector<uint32_t, 1> lineagesOf(const Operator &op, uint32_t way) const;
  IdSet originsOf(const Operator &op, uint32_t way) const;
  std::vector<Lineage> parentsOf(const Made &from, llvm::function_ref<bool(const Operator &)> counts) const;
  void stampConstant(Value &constant);
  IdSet sourcesOf(const Value &related) const;
  void relateMoved();
  void relateAbsorbed();
  void relateBack(const Value &old, Value &moved, const Step &step);
  void relateScaled();
  const Step *factorsOf(const Created &item, Operator *&original) const;
  void relateStored();
  void relateAs(Value &stored, const Value &real, llvm::function_ref<uint32_t(uint32_t)> lineageOf);
};

inline bool isOwn(const Operator &op, llvm::ArrayRef<Operator *> ops) { return llvm::is_contained(ops, &op); }

/// Bit for bit, whoever computes it: elements are moved or widened, or they are integers without a scale.
bool computesExactly(const Operator &op);

/// Whether the value can turn out to have this shape, in which such sizes may stand as well.
bool mayHaveShape(const Value &value, llvm::ArrayRef<int32_t> shape);

} // namespace origo::rewrite
