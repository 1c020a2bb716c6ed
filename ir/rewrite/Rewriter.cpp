#include "ir/rewrite/Rewriter.h"

#include "ir/Lineage.h"
#include "ir/rewrite/Build.h"
#include "ir/rewrite/Order.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <utility>

namespace origo {

std::string RewriteEvent::text() const {
  std::string line = ("rewrite " + llvm::Twine(number) + " (" + pass + " / " + rule + ", " +
                      llvm::sys::path::filename(where.file) + ":" + llvm::Twine(where.line) + ")")
                         .str();
  for (const Before &op : before)
    line += ", " + op.op + " \"" + printable(op.name) + '"';
  return line;
}

Rewriter::Rewriter(Model &model, PayloadStore &store, Folding folding)
    : Editor(model), store(store), folding(folding), most(64 * uint64_t{model.operatorCount()} + 10000),
      mostInlined(4 * uint64_t{model.operatorCount()} + 1000) {
  lookAtCalls();
}

Rewriter::~Rewriter() {
  llvm::consumeError(std::move(error));
  for (auto *list : {&fresh, &worklist})
    for (Operator *op : *list)
      op->queued = false; // for the next one
}

RewriteResult Rewriter::apply(llvm::StringRef passName, llvm::StringRef ruleName, llvm::StringRef mismatch,
                              const rewrite::Expr &pattern, const std::function<RewriteResult(rewrite::Match &)> &build,
                              llvm::ArrayRef<Scope> only, Operator &root) {
  forgetSpent();
  pass = passName;
  rule = ruleName;
  scopes = only;
  rewrite::Match match(*this);
  rewrite::Matcher matcher(match);
  bool found = matcher.find(pattern, root);
  if (!rewrite::Turn::mistaken().empty()) // in the pattern itself
    return RewriteResult::refused(rewrite::Turn::mistaken());
  if (!found)
    return decline(matcher.outOfBudget() ? "there are too many ways to look for the pattern here"
                   : mismatch.empty()    ? "an operand is absent, or an activation is fused"
                                         : mismatch.data());
  RewriteResult result = match.answer(build(match));
  taken = std::move(match.taken);
  return result;
}

std::string Rewriter::furthest(const rewrite::Expr &pattern, Operator &root) {
  rewrite::Match match(*this);
  rewrite::Furthest reached;
  rewrite::Matcher matcher(match, &reached);
  if (matcher.find(pattern, root))
    return "";
  return llvm::formatv(" ({0} part{1} found; expected {2})", reached.parts, reached.parts == 1 ? "" : "s",
                       reached.expected)
      .str();
}

/// What the last rewrite erased was there to be looked at; now it may be used again.
void Rewriter::forgetSpent() {
  llvm::append_range(model.spareOperators, spent);
  spent.clear();
  for (auto [graph, value] : spentValues)
    if (!value->named)
      graph->spare.push_back(value);
  spentValues.clear();
  forgetSets();
}

void Rewriter::forgetSets() {
  if (model.sets.crowded() && !onRewrite) // who looks on may have kept some
    model.forgetUnusedSets();
}

/// Whether the given flags ask for a rewrite of what was matched.
const char *Rewriter::refusal(llvm::ArrayRef<Operator *> consumed) const {
  bool inScope = scopes.empty() || llvm::any_of(scopes, [&](const Scope &scope) {
                   return scope.root == consumed.front()->code &&
                          (!scope.other ||
                           llvm::any_of(consumed.drop_front(), [&](Operator *op) { return op->code == *scope.other; }));
                 });
  return inScope ? nullptr : "not asked for by the given flags";
}

/// Why rewriting goes on for too long: rules that undo each other.
std::string Rewriter::spinning(llvm::ArrayRef<Operator *> roots) const {
  constexpr unsigned generations = 64;
  for (const Operator *root : roots)
    if (root->generation >= generations)
      return ("it was made anew " + llvm::Twine(generations) + " times in this phase, last by " + makers[root->maker] +
              ", and would be by " + rule)
          .str();
  return applied < most ? "" : "this run has made more rewrites than 64 an operator";
}

/// A name for what a rule adds: that of the root's result with a suffix, for names should not repeat.
std::string Rewriter::label(const Value &of, llvm::StringRef suffix) { return (of.name.text() + "/" + suffix).str(); }
std::string Rewriter::label(rewrite::Node root, llvm::StringRef suffix) {
  return (root.resultName() + "/" + suffix).str();
}

/// One that was erased is used again, with the room that it has for operands and results: of the last ones the first
/// that has enough.
Operator *Rewriter::newOperator(unsigned operands) {
  auto &spare = model.spareOperators;
  if (spare.empty())
    return new (model.operatorArena.Allocate()) Operator();
  size_t last = spare.size() - 1, at = last;
  while (spare[at]->operandRoom < operands && at > 0 && last - at < 8)
    --at;
  std::swap(spare[spare[at]->operandRoom < operands ? last : at], spare[last]);
  Operator *op = spare.back();
  spare.pop_back();
  if (plan)
    plan->forget(op);
  Use *uses = op->operandUses;
  Value **results = op->resultValues;
  unsigned operandRoom = op->operandRoom, resultRoom = op->resultRoom;
  bool queued = op->queued; // the worklist has it already
  op->~Operator();
  new (op) Operator();
  op->operandUses = uses;
  if (resultRoom)
    op->resultValues = results;
  op->operandRoom = operandRoom;
  op->resultRoom = resultRoom;
  op->queued = queued;
  return op;
}

/// Listed in the place of values that were used again: it is erased, and nothing writes to it.
static Value &hole() {
  struct Hole : Value {
    Hole() { index = unlisted; }
  };
  static Hole hole;
  return hole;
}

/// At the end of the list, also if it is one that was erased and is used again: which of two equal ones stays does not
/// depend on what there was to use.
Value &Rewriter::newValue(Subgraph &graph) {
  if (graph.spare.empty())
    return model.addValue(graph);
  Value *value = graph.spare.back();
  graph.spare.pop_back();
  if (value->index != Value::unlisted)
    graph.values[value->index] = &hole();
  numbers.forget(*value);
  value->~Value();
  new (value) Value();
  value->parent = &graph;
  value->index = static_cast<unsigned>(graph.values.size());
  graph.values.push_back(value);
  return *value;
}

Value &Rewriter::newConstant(Subgraph &graph, Payload payload) {
  Value &value = newValue(graph);
  if (model.spareBuffers.empty()) {
    value.buffer = &model.addBuffer(std::move(payload));
    value.buffer->computed = true;
  } else {
    value.buffer = model.spareBuffers.back();
    model.spareBuffers.pop_back();
    value.buffer->payload = std::move(payload);
  }
  return value;
}

/// A value that did not come into the graph, or that nothing there uses.
void Rewriter::discard(Value &value) {
  spentValues.emplace_back(std::exchange(value.parent, nullptr), &value);
  value.definer = nullptr;
  dropPayload(value);
}

/// An operator that did not come into the graph.
void Rewriter::recycle(Operator &op) {
  for (Value *result : op.results())
    if (result && result->definer == &op)
      discard(*result);
  op.parent = nullptr; // the laws may have been asked of it as if it were there
  model.spareOperators.push_back(&op);
}

void Rewriter::created(Operator &op, llvm::ArrayRef<Operator *> roots) {
  for (const Operator *root : roots)
    op.generation = std::max<uint8_t>(op.generation, root->generation + 1);
  auto [known, isNew] = makerOf.try_emplace(rule, makers.size());
  if (isNew)
    makers.push_back(rule);
  op.maker = known->second;
  if (layout)
    layout->forget(op);
  for (Subgraph *callee : op.callees())
    ++bodies[callee].calls;
  push(op);
}

/// What an observer wants to know of the operators that are about to go.
std::optional<RewriteEvent> Rewriter::describe(llvm::ArrayRef<Operator *> consumed, SourceLine where) {
  if (!onRewrite)
    return std::nullopt;
  takenOver.clear();
  RewriteEvent event{model.rewrites + 1, pass, rule, where, consumed.front()->parent, {}, {}, nullptr};
  for (Operator *op : consumed)
    event.before.push_back({op->opName(), op->result() ? op->result()->name.str() : "", op->origins, false, op});
  return event;
}

void Rewriter::noteUnneeded(Operator &op, unsigned position, UnneededReason reason) {
  model.noteUnneeded(op, position, reason);
  unneeded.insert(&op.operands()[position]);
}

/// Erases what was consumed and is needed no more.
void Rewriter::retire(llvm::ArrayRef<std::pair<Operator *, Destinations *>> consumed, size_t roots,
                      llvm::ArrayRef<Operator *> made, Fate fate) {
  ++applied;
  llvm::SmallVector<std::pair<Operator *, Subgraph *>> calls;
  for (auto [op, way] : consumed)
    for (Subgraph *callee : op->callees())
      calls.push_back({op, callee});
  for (Operator *op : made) {
    for (Value *result : op->results())
      if (result)
        for (Operator *user : usersInOrder(*result))
          push(*user);
    for (Use &use : op->operands())
      if (Value *v = use.get(); v && v->producer())
        push(*v->producer());
  }
  for (auto [op, way] : consumed.take_front(roots)) {
    for (auto entry : way->entries)
      if (auto *value = llvm::dyn_cast<Value *>(entry); value && value->producer())
        push(*value->producer());
    erase(*op, fate, way);
  }
  // Matchers may have come upon one before the other that uses it.
  for (bool again = true; std::exchange(again, false);)
    for (auto [op, way] : consumed.drop_front(roots))
      if (!op->erased() && removable(*op)) {
        erase(*op, fate, way);
        again = true;
      }
  unneeded.clear();
  eraseDoomed();
  for (auto [op, callee] : calls)
    if (op->erased())
      released(*callee);
}

void Rewriter::finish() {
  numbers = {};
  dropUncalled();
  claimWork();
  forgetDone();
  lineage::settle(model);
  // Nothing is made any more, so there is no use for lists of what could be used again.
  model.spareOperators = std::vector<Operator *>();
  for (auto &graph : model.subgraphs)
    graph->spare = std::vector<Value *>(); // an empty list would keep the room
  model.sets.rest();
}

void Rewriter::sweep() {
  if (removeDeadCode() && onRewrite)
    onRewrite({model.rewrites, pass, "unused", SourceLine::current(), nullptr, {}, {}, nullptr});
}

bool Rewriter::handles(const Operator &op) const { return llvm::is_contained(region, &op); }

void Rewriter::push(Operator &op) {
  if (op.queued || op.erased())
    return;
  op.queued = true;
  fresh.push_back(&op);
}

void Rewriter::beginPhase() {
  numbers = {};
  layout.reset();
  asksForLayout = false;
  lookAtCalls();
  for (auto &graph : model.subgraphs) {
    unsigned place = 0;
    for (Operator &op : graph->operators) {
      op.generation = 0;
      op.index = place++; // what is inlined has that of the call, and may be long
      push(op);
    }
  }
  std::swap(worklist, fresh);
}

bool Rewriter::planLayout() {
  if (!std::exchange(asksForLayout, false))
    return false;
  layout.emplace(model);
  bool any = false;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      if (layout->contains(op) && !op.queued) {
        op.queued = any = true;
        worklist.push_back(&op);
      }
  return any;
}

void Rewriter::restNowAndThen() {
  if (++looks % (1 << 10) == 0)
    model.restFiles();
}

Operator *Rewriter::popChanged() {
  restNowAndThen();
  while (!fresh.empty() || !worklist.empty()) {
    auto &list = fresh.empty() ? worklist : fresh;
    Operator *op = list.front();
    list.pop_front();
    op->queued = false;
    if (!op->erased())
      return op;
  }
  return nullptr;
}

} // namespace origo
