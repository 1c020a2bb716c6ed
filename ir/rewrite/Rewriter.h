#pragma once

#include "ir/edit/Editor.h"
#include "ir/rewrite/BinaryCodes.h"
#include "ir/rewrite/LayoutPlan.h"
#include "ir/rewrite/Match.h"
#include "ir/rewrite/ValueNumbers.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <deque>
#include <functional>

namespace origo {

/// A rewrite that was applied.
struct RewriteEvent {
  struct Before { ///< a consumed operator as it was; it may be erased by now
    std::string op, name;
    IdSet origins;
    bool kept;          ///< still there for other users
    const Operator *at; ///< tells it from all that are in the graph at that time; what is there now may be another
  };
  uint32_t number;
  llvm::StringRef pass, rule;
  SourceLine where;                    ///< the rule's own `replace`
  Subgraph *subgraph;                  ///< null: the whole model
  llvm::SmallVector<Before, 4> before; ///< the root first
  llvm::SmallVector<Operator *, 2> created;
  Value *value = nullptr; ///< what took the root's place where no operator was created
  /// Values whose users now use another one that was there before. The first may be erased.
  llvm::SmallVector<std::pair<const Value *, const Value *>, 1> tookOver = {};

  /// `rewrite 3 (pass / rule, File.cpp:7), MUL "m", ADD "a"`
  std::string text() const;
};

/// How constants are computed; the kernels are above this folder.
struct Folding {
  /// The results of an operator, which need not be in the graph, from its constant operands; empty, with the reason: it
  /// cannot.
  std::function<llvm::Expected<llvm::SmallVector<Payload, 1>>(const Operator &op, PayloadStore &store,
                                                              const char *&why)>
      evaluate;
  /// Whether it holds of each element of the operands and the result of an elementwise operator of two float constants.
  bool (*everyElement)(const Operator &op, llvm::function_ref<bool(float, float, float)> holds);
};

/// Replaces regions of the graph. A rule finds a pattern and says what takes its place; this checks the laws of regions
/// before anything is changed, and stamps origins, relations and ledger, so that a rule cannot state them.
///
/// The laws: (i) what is created or takes a place uses operands of what was consumed, what was created, and constants
/// made here; (ii) no operand of what was consumed is lost but a constant that was read, or one that provably is not
/// needed; (iii) what was read belongs to what was consumed; (iv) what was consumed feeds what was consumed, but for
/// the roots; (v) no root comes before something that the region needs from outside.
class Rewriter : public Editor {
public:
  Rewriter(Model &model, PayloadStore &store, Folding folding);
  ~Rewriter() override;

  /// Where not empty: only rewrites of these pairs apply. What a narrow command-line flag asks for of a general rule.
  struct Scope {
    BuiltinOperator root;
    std::optional<BuiltinOperator> other; ///< must be among the consumed; none: any
  };

  /// Tries a rule of a pass on an operator.
  RewriteResult apply(llvm::StringRef pass, llvm::StringRef rule, llvm::StringRef mismatch,
                      const rewrite::Expr &pattern, const std::function<RewriteResult(rewrite::Match &)> &build,
                      llvm::ArrayRef<Scope> scopes, Operator &root);
  /// What the last rule that was tried has taken numbers for.
  llvm::SmallVector<rewrite::Taken, 1> taken;
  /// How far the pattern gets at an operator where it is not found: " (3 parts found; expected 6, found 5)". Empty: it
  /// is there. It matches anew, so it is for who looks on.
  std::string furthest(const rewrite::Expr &pattern, Operator &root);
  /// `op` does what an earlier operator does: its users take that one's results, and its origins join.
  RewriteResult mergeEqual(llvm::StringRef pass, llvm::ArrayRef<Scope> scopes, Operator &op);
  /// The operators of the subgraph that is the `callee`th that `call` may call take its place.
  RewriteResult inlineCall(Operator &call, unsigned callee, SourceLine where);
  /// Equal constants of a subgraph become one.
  void mergeEqualConstants(llvm::StringRef pass);

  /// The worklist: operators that a rewrite made or whose surroundings it changed.
  Operator *popChanged();
  /// Begins a phase with all operators on the worklist; what earlier ones made counts as given.
  void beginPhase();
  /// Removes dead code and tells of it.
  void sweep();
  /// Ends the run: what can be told only when all is in its place.
  void finish();

  Format format = Format::Circle; ///< of the file that is written
  /// What rules are told of how tensors are to be stored; null: nothing. Operators that are gone go from it.
  StoragePlan *plan = nullptr;
  /// Stores what the plan says of the interface so, and puts bridges between it and the graph inside.
  void storeInterface(llvm::StringRef pass);
  /// Inputs, or outputs, of the first subgraph that have four dimensions are pictures with channels first, and have
  /// them last from now on; transposes stand between them and the graph inside.
  void turnInterface(llvm::StringRef pass, bool inputs, bool outputs);

  /// Decides which operators are to be computed with channels last, and has them looked at again; for when the other
  /// rules have nothing left to do, as transposes that go in the end decide nothing. False: none are, or no rule asked.
  bool planLayout();

  /// Looks whether outputs of the model are binary codes of its weights, which rules may then use instead of these; and
  /// takes them out of the outputs when that is done. The user asked for both, so what is not used is what the user
  /// does not want.
  void readCodes() { codes = rewrite::BinaryCodes(*model.subgraphs.front()); }
  void dropCodes();

  std::function<void(const RewriteEvent &)> onRewrite;
  /// Why an operator that a rule would create is not wanted, whose place in the graph is not known yet; empty: it is.
  std::function<std::string(const Operator &)> refuses;
  /// What an operator costs that is refused, by its kind; null: each the same.
  std::function<double(const Operator &)> price;
  /// What rules are for in this moment: to bring a target what it takes, so that what is made and refused costs less
  /// than what goes and is refused.
  bool mends = false;
  bool keepsSmall = false;                    ///< and no more operators are made than go
  llvm::Error error = llvm::Error::success(); ///< of the environment, a full disk for example: ends the run

private:
  Value &newPort(Value &value, const Step &step, bool exact);
  void bridge(Value &value, Value &port, BuiltinOperator code, llvm::ArrayRef<Value *> more, SyntheticReason reason,
              bool exact, llvm::StringRef suffix);
  friend class rewrite::Build;
  friend class rewrite::Match;
  class Inlining;
  /// A subgraph that is called.
  struct Body {
    unsigned calls = 0; ///< at least as many as there are
    size_t operators = 0;
    bool keepsState = false; ///< so that two copies of it would not be one
    /// By operator and value to which rewrites lead: the copies, to which these lead when the subgraph goes.
    llvm::DenseMap<const void *, Destinations *> heirs;
  };
  PayloadStore &store;
  const Folding folding;
  llvm::StringRef rule;
  llvm::ArrayRef<Scope> scopes;
  /// Those of the phase's beginning, in order, and those that a rewrite made or changed, which come first: what one
  /// rewrite makes for another to take away again does not pile up.
  std::deque<Operator *> worklist, fresh;
  unsigned looks = 0; ///< at operators and constants: each reads a few hundred bytes of the input
  void restNowAndThen();
  ValueNumbers numbers;
  rewrite::BinaryCodes codes;                        ///< of this phase, where a pass wants them
  std::optional<rewrite::LayoutPlan> layout;         ///< of this phase
  bool asksForLayout = false;                        ///< a rule did since there was a plan
  llvm::SmallVector<llvm::StringRef> makers{""};     ///< the rules that made operators, by Operator::maker
  llvm::DenseMap<llvm::StringRef, uint16_t> makerOf; ///< into it
  llvm::ArrayRef<Operator *> region;                 ///< that is being replaced
  llvm::SmallPtrSet<const Use *, 4> unneeded;        ///< operands of the region
  llvm::SmallVector<std::pair<const Value *, const Value *>, 1> takenOver; ///< in the rewrite that is told of
  const uint64_t most;                                                     ///< rewrites of this run
  uint64_t applied = 0;
  const uint64_t mostInlined; ///< operators of this run
  uint64_t inlined = 0;
  llvm::DenseMap<const Subgraph *, Body> bodies;  ///< as of the beginning of the phase, and what was inlined since
  llvm::SmallPtrSet<const Subgraph *, 4> emptied; ///< that go in the end

  void changed(Operator &op) override { push(op); }
  bool handles(const Operator &op) const override;
  bool isUnneeded(const Use &use) const override { return unneeded.contains(&use); }
  void push(Operator &op);
  void forgetSpent();
  void forgetSets();
  const char *refusal(llvm::ArrayRef<Operator *> consumed) const;
  const char *mergeRefusal(const Value &from, const Value &to) const;
  std::string spinning(llvm::ArrayRef<Operator *> roots) const;
  std::optional<RewriteEvent> describe(llvm::ArrayRef<Operator *> consumed, SourceLine where);
  bool replacesInexact() const;
  void takeOver(Value &from, Value &to, bool exact, llvm::function_ref<uint32_t(uint32_t)> number);
  void moveInterface(Value &from, Value &to);
  static void sortByLineage(Value &value);
  void lookAtCalls();
  void released(Subgraph &body);
  void empty(Subgraph &graph);
  void dropUncalled();

  // For Build and Inlining.
  std::string label(const Value &of, llvm::StringRef suffix);
  std::string label(rewrite::Node root, llvm::StringRef suffix);
  Operator *newOperator(unsigned operands);
  Value &newValue(Subgraph &graph);
  Value &newConstant(Subgraph &graph, Payload payload);
  void discard(Value &value);
  void recycle(Operator &op);
  void created(Operator &op, llvm::ArrayRef<Operator *> roots);
  void standIn(Value &old, Value &value, bool exact, llvm::ArrayRef<uint32_t> numbers, Destinations &into);
  void claimWork();
  IdSet doneInFront(const Operator &op, uint32_t lineage) const;
  void forgetDone();
  llvm::SmallVector<uint32_t, 4> madeBetween(const Operator &op, uint32_t last) const;
  bool madeBefore(const Operator &op, uint32_t id) const;
  void becomeConstant(Value &old, Value &constant, llvm::ArrayRef<Lineage> parents, bool exact, Destinations &into);
  void describeParents(Value &constant, llvm::ArrayRef<Lineage> parents);
  void noteUnneeded(Operator &op, unsigned position, UnneededReason reason);
  void retire(llvm::ArrayRef<std::pair<Operator *, Destinations *>> consumed, size_t roots,
              llvm::ArrayRef<Operator *> made, Fate fate);
};

} // namespace origo
