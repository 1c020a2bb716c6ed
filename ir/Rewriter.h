#pragma once

#include "ir/Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>
#include <functional>

namespace origo {

/// What a rule answers: applied, or why not. Reasons are static strings.
class [[nodiscard]] RewriteResult {
public:
  static RewriteResult applied() { return RewriteResult(nullptr); }
  bool isApplied() const { return reason == nullptr; }
  const char *declined() const { return reason; }

private:
  friend RewriteResult decline(const char *reason);
  explicit RewriteResult(const char *reason) : reason(reason) {}
  const char *reason;
};
inline RewriteResult decline(const char *reason) { return RewriteResult(reason); }

/// An operator to be made. Start from Rewriter::draft (a new kind) or Rewriter::clone (a changed one).
struct Draft {
  BuiltinOperator code = BuiltinOperator::ADD;
  Options options;
  llvm::SmallVector<Value *, 4> operands;
  Operator *base = nullptr; ///< what it is a changed clone of: its work is not "folded away" into new constants
  llvm::SmallVector<Operator *, 2> standsFor;
  bool exact = false; ///< computes bit for bit what the consumed operators did

  Draft &operand(unsigned i, Value *value) {
    if (operands.size() <= i)
      operands.resize(i + 1);
    operands[i] = value;
    return *this;
  }
  /// Which consumed operators this one stands for; needed where a rewrite consumes several and creates several.
  Draft &standingFor(llvm::ArrayRef<Operator *> ops) {
    standsFor.append(ops.begin(), ops.end());
    return *this;
  }
  Draft &bitExact() {
    exact = true;
    return *this;
  }
};

/// A place in the source of a rule. (SourceLine is more than clang 14 can do.)
struct SourceLine {
  const char *file;
  unsigned line;
  static constexpr SourceLine current(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

/// A rewrite that was applied.
struct RewriteEvent {
  struct Before { ///< a consumed operator as it was; it may be erased by now
    std::string op, name;
    IdSet origins;
    bool kept; ///< still there for other users
  };
  uint32_t number;
  llvm::StringRef pass, rule;
  SourceLine where;                    ///< the rule's own `replace…`
  Subgraph *subgraph;                  ///< null: the whole model
  llvm::SmallVector<Before, 4> before; ///< the root first
  llvm::SmallVector<Operator *, 2> created;
  Value *value = nullptr; ///< what took the root's place where no operator was created

  /// `rewrite 3 (pass / rule, File.cpp:7), MUL "m", ADD "a"`
  std::string text() const;
};

/// The only way to change a model. A rule matches (telling which operators it consumes), makes drafts and constants,
/// and ends in one of the `replace…` calls, which applies the rewrite as a whole with its provenance, or declines it.
/// Provenance is stamped here: rules say nothing of it but what they consume and what a created operator stands for.
class Rewriter {
public:
  Rewriter(Model &model, PayloadStore &store) : model(model), store(store) {}
  ~Rewriter();

  Model &model;
  PayloadStore &store;

  /// Starts a rule on `root`, which is consumed; forgets what an earlier one left undone.
  void begin(llvm::StringRef pass, llvm::StringRef rule, Operator &root);
  /// Marks an operator as consumed: called by matchers.
  void consume(Operator &op);
  size_t consumedCount() const { return consumed.size(); }
  void unconsume(size_t count) { consumed.truncate(count); }

  /// An operator of another kind. `edits` are the scalar fields of its options that differ from their defaults.
  Draft draft(BuiltinOperator code, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<wire::ScalarEdit> edits = {});
  /// A changed copy of `op`.
  Draft clone(Operator &op, llvm::ArrayRef<wire::ScalarEdit> edits = {});

  /// The result of a new operator in the middle of a rewrite, of this type and shape.
  Value *insert(Draft draft, TensorType type, llvm::ArrayRef<int32_t> shape,
                const Quantization *quantization = nullptr);
  /// The same, of the type and shape of `like`, dynamic dimensions included.
  Value *insertLike(Draft draft, const Value &like);
  /// The result of a new operator that computes what `of`, the root's result, holds, but before a movement that the
  /// rewrite puts behind it: of the type of `of` and the shape of `shape`. `step` leads from `of` to it.
  Value *insertUnmoved(Draft draft, const Value &of, const Value &shape, const Step &step);
  /// A constant computed from the constants `from`. It carries on the label and the relations of `from[0]`, with
  /// `steps` appended; without steps it has no relation ("approximated"). `base`: the operator it is for; the other
  /// consumed operators are the ones folded into it.
  Value *constant(Payload payload, TensorType type, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<Value *> from,
                  const Operator *base, std::optional<llvm::SmallVector<Step, 2>> steps, bool exact = false);
  /// The elements of `from` in another shape or order, or repeated; quantised as it is. Nothing was folded into it.
  Value *movedConstant(Payload payload, llvm::ArrayRef<int32_t> shape, Value &from, llvm::ArrayRef<Step> steps);
  /// A constant that stands for nothing in the source, for example a permutation that a new Transpose needs.
  Value *inventedConstant(Payload payload, TensorType type, llvm::ArrayRef<int32_t> shape, llvm::StringRef label);

  /// `draft` computes the root's results from now on.
  RewriteResult replace(Draft draft, SourceLine where = SourceLine::current());
  /// The root's only result is `value` already; `fate` says in which way; `exact`: bit for bit.
  RewriteResult replaceWithValue(Value *value, Fate fate, bool exact = true, SourceLine where = SourceLine::current());
  /// Each used result of the root, none of them an output of the graph, is this constant, computed from the operands;
  /// `exact`: bit for bit as at run time.
  RewriteResult replaceWithConstants(llvm::MutableArrayRef<Payload> payloads, bool exact,
                                     SourceLine where = SourceLine::current());

  /// The root computes what `survivor`, an earlier operator, computes: its users take the survivor's results, and its
  /// origins join the survivor's.
  RewriteResult mergeInto(Operator &survivor, SourceLine where = SourceLine::current());
  /// `duplicate` holds the same bytes as `survivor`, which takes over its users and origins. Not part of a rule.
  void mergeConstants(llvm::StringRef pass, Value &survivor, Value &duplicate);

  /// A name for what a rule adds: that of the root's result with a suffix, for names should not repeat.
  llvm::StringRef label(llvm::StringRef suffix);

  /// The rule cannot go on because of its environment (a full disk): kept in `error`, ends the run.
  RewriteResult fail(llvm::Error failure);
  /// Forgets the drafts and constants of a rule that declined.
  void abandon();

  /// Removes what nothing needs. What the source itself does not use is told apart from what became dead, or what the
  /// user did not want (`fate` UserRemoved).
  void removeDeadCode(Fate fate = Fate::Dead);
  /// Makes these values the outputs of the first subgraph and of its signatures, and removes what they do not need. Not
  /// part of a rule; to be called before any.
  void changeOutputs(llvm::ArrayRef<Value *> outputs);
  /// Where what does not stay goes: the part that has this operator of the divided subgraph, or, if there is none, this
  /// other subgraph; null: the user does not want it.
  using PartOf = llvm::function_ref<const Part *(const Operator *op, const Subgraph &graph)>;
  /// Keeps these operators of one subgraph, which becomes the first one, with what they call; the rest of the model
  /// goes. What they take from the rest become inputs, what they give it outputs; signatures go. `sourceProducers`: by
  /// source tensor, the source operator that makes it, or −1. Not part of a rule; to be called before any.
  llvm::Error keepOnly(llvm::StringRef pass, llvm::ArrayRef<Operator *> kept, PartOf partOf,
                       llvm::ArrayRef<int32_t> sourceProducers);
  /// Gives the inputs of the first subgraph these shapes (−1: known at run time only), and all that is computed from
  /// them what follows. A tensor of another shape is not the tensor of the source any more. Not part of a rule.
  llvm::Error resizeInputs(llvm::ArrayRef<llvm::SmallVector<int32_t, 4>> shapes);
  /// Drops buffers that no live value and no metadata entry refers to.
  void pruneBuffers();

  /// The worklist: operators that a rewrite made or whose surroundings it changed.
  Operator *popChanged();
  void push(Operator &op);
  void pushAll();

  std::function<void(const RewriteEvent &)> onRewrite;
  llvm::Error error = llvm::Error::success();
  /// Where not empty: only rewrites of these pairs apply. What a narrow command-line flag asks for of a general rule.
  struct Scope {
    BuiltinOperator root;
    std::optional<BuiltinOperator> other; ///< must be among the consumed; none: any
  };
  llvm::ArrayRef<Scope> scopes;

private:
  llvm::StringRef pass, rule;
  Operator *root = nullptr;
  llvm::SmallVector<Operator *, 4> consumed;
  struct Pending {
    Draft draft;
    Value *result;
  };
  llvm::SmallVector<Pending, 2> pending;
  llvm::SmallVector<Value *, 4> newConstants;
  llvm::SmallVector<Operator *, 2> created;
  llvm::SmallVector<std::pair<Operator *, Operator *>, 4> standIns; ///< consumed, created: where drafts say so
  std::deque<Operator *> worklist;
  llvm::SmallVector<Operator *> doomed; ///< nothing needs them any more; erased at the end of a rewrite
  llvm::SmallVector<Operator *>
      spent; ///< made in this run and erased in the last rewrite, which may still be looked at
  llvm::SmallVector<std::pair<Subgraph *, Value *>> spentConstants;
  const Part *part = nullptr; ///< that has what is buried now

  const char *refusal() const;
  const char *mergeRefusal(const Value &from, const Value &to) const;
  void takeOver(Value &from, Value &to, bool exact);
  RewriteResult finish(Fate fate, Successors *into, std::optional<RewriteEvent> event);
  Successors *successorsOf(const Operator &op, Successors *all);
  std::optional<RewriteEvent> describe(SourceLine where) const;
  Operator *newOperator();
  Value &newConstant(Payload payload);
  Operator &make(const Draft &draft, llvm::ArrayRef<Value *> results, Successors &into, bool several);
  void erase(Operator &op, Fate fate, Successors *into);
  void eraseValue(Value &value, Fate fate, Successors *into);
  void release(Value *value, Fate fate, Successors *into);
  void eraseDoomed(Fate fate = Fate::Dead);
  void moveInterface(Value &from, Value &to);
  bool resize(Value &value, llvm::ArrayRef<int32_t> shape);
  llvm::Error resizeResults(Subgraph &graph, llvm::DenseSet<const Value *> &resized);
  llvm::Error resizeCallees(Operator &op, llvm::DenseSet<const Value *> &resized);
  void bury(bool tensors, IdSet ids, Fate fate, Successors *into);
  bool removable(const Operator &op) const;
  static void dropPayload(Value &value);
};

} // namespace origo
