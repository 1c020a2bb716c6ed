#include "ir/rewrite/Rewriter.h"

#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/Undetermined.h"
#include "ir/rewrite/Build.h"
#include "schema/OperatorFacts.h"

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

/// Why `to` cannot stand in the place of `from`.
const char *Rewriter::mergeRefusal(const Value &from, const Value &to) const {
  bool same = from.type == to.type && from.shape == to.shape && from.shapeSignature() == to.shapeSignature() &&
              sameQuantization(from.quantization, to.quantization);
  if (!same && (!isUndetermined(from) || isUndetermined(to)))
    return "the values differ in type, shape or quantisation";
  if (to.isVariable || from.isVariable)
    return "a variable is not merged with another value";
  if (from.otherUses != from.graphOutputs + from.signatureUses)
    return "the value is named by an operator's intermediates or a quantisation";
  if (from.isInterface() && to.isInterface())
    return "would merge two tensors of the model's interface";
  if (from.isInterface() && !to.producer())
    return "a graph output would become a constant";
  return nullptr;
}

/// `to` becomes the tensor of the model's interface that `from` was.
void Rewriter::moveInterface(Value &from, Value &to) {
  to.name = from.name;
  std::replace(from.parent->outputs.begin(), from.parent->outputs.end(), &from, &to);
  for (Signature &signature : model.signatures)
    for (auto *entries : {&signature.inputs, &signature.outputs})
      for (Signature::Entry &entry : *entries)
        if (entry.value == &from)
          entry.value = &to;
  to.graphOutputs += from.graphOutputs;
  to.signatureUses += from.signatureUses;
  to.otherUses += from.graphOutputs + from.signatureUses;
  from.otherUses = from.graphOutputs = from.signatureUses = 0;
}

/// What is being replaced computes other bits than the source did, by itself or from a constant.
bool Rewriter::replacesInexact() const {
  return llvm::any_of(region, [](const Operator *op) {
    return op->inexact || llvm::any_of(op->operands(), [](const Use &use) { return use.get() && use.get()->inexact; });
  });
}

/// lineage::relations counts on it.
void Rewriter::sortByLineage(Value &value) {
  llvm::stable_sort(value.relations, [](const Relation &a, const Relation &b) { return a.lineage < b.lineage; });
}

/// Users, interface and relations of `from` go to `to`. Where that is not exact, the users compute with other bits than
/// before; `to` is what it was.
void Rewriter::takeOver(Value &from, Value &to, bool exact, llvm::function_ref<uint32_t(uint32_t)> number) {
  if (onRewrite)
    takenOver.emplace_back(&from, &to);
  if (from.isInterface()) {
    moveInterface(from, to);
    to.producer()->inexact |= !exact;
  }
  from.forEachUse([&](Use &use) {
    push(*use.user());
    use.user()->inexact |= !exact;
    if (!exact)
      for (Subgraph *callee : use.user()->callees())
        for (Value *input : callee->inputs)
          input->inexact = true;
    use.set(&to);
    lineage::renumber(use, number);
  });
  bool sorted = true;
  for (Relation relation : from.relations) {
    relation.exact &= exact;
    relation.lineage = number(relation.lineage);
    auto same = [&](const Relation &one) {
      return one.tensor == relation.tensor && one.steps == relation.steps && one.lineage == relation.lineage;
    };
    if (!to.relations.empty() && (same(to.relations.front()) || same(to.relations.back()))) {
      Relation &known = same(to.relations.front()) ? to.relations.front() : to.relations.back();
      known.exact &= relation.exact;
      continue;
    }
    sorted &= to.relations.empty() || to.relations.back().lineage <= relation.lineage;
    to.relations.push_back(relation);
  }
  if (!sorted)
    sortByLineage(to);
  mutation::related(model, to);
  if (!to.relations.empty())
    to.noRelation = NoRelation::None;
  from.relations.clear();
}

void Rewriter::standIn(Value &old, Value &value, bool exact, llvm::ArrayRef<uint32_t> numbers, Destinations &into) {
  takeOver(old, value, exact && !replacesInexact(), [&](uint32_t lineage) { return numbers[lineage]; });
  into.add(value);
}

/// `old`, which keeps its name and relations, holds what `constant` was made of.
void Rewriter::becomeConstant(Value &old, Value &constant, llvm::ArrayRef<Lineage> parents, bool exact,
                              Destinations &into) {
  describeParents(old, parents);
  sortByLineage(old);
  mutation::derived(model, old);
  exact &= !replacesInexact();
  old.inexact = !exact;
  for (Relation &relation : old.relations)
    relation.exact &= exact;
  mutation::related(model, old);
  if (old.sourceTensors.empty() && old.sourceOperators.empty())
    old.setSynthetic(reasonName(SyntheticReason::InventedConstant));
  old.definer->resultArray()[old.definerResult] = nullptr;
  old.definer = nullptr;
  old.buffer = &model.addBuffer(std::move(constant.buffer->payload));
  old.buffer->computed = true;
  constant.buffer->payload = {};
  old.forEachUse([&](Use &use) { push(*use.user()); });
  into.add(old);
}

/// What a constant was computed from, by lineage.
void Rewriter::describeParents(Value &constant, llvm::ArrayRef<Lineage> parents) {
  for (const Lineage &one : parents) {
    constant.sourceTensors = model.sets.join(constant.sourceTensors, one.tensors);
    constant.sourceOperators = model.sets.join(constant.sourceOperators, one.operators);
  }
  if (parents.size() > 1)
    constant.makeLineages() = std::vector<Lineage>(parents.begin(), parents.end());
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
        result->forEachUse([&](Use &use) { push(*use.user()); });
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

/// Which of two operators of a subgraph is first. What a rewrite makes has the index of what it replaces.
static bool comesBefore(const Operator &a, const Operator &b) {
  if (a.index != b.index)
    return a.index < b.index;
  auto end = a.subgraph()->operators.end();
  for (auto it = a.getIterator(); it != end && it->index == b.index; ++it)
    if (&*it == &b)
      return true;
  return false;
}

RewriteResult Rewriter::mergeEqual(llvm::StringRef passName, llvm::ArrayRef<Scope> only, Operator &visited) {
  forgetSpent();
  pass = passName;
  rule = "equal";
  scopes = only;
  if (visited.effects() != 0)
    return decline("an operator with effects is done as often as the model says");
  if (const char *why = refusal(&visited))
    return decline(why);
  Operator *equal = numbers.findEqual(visited);
  if (!equal)
    return decline("no other operator does the same");
  // What was made before the equal one has not been looked at since; it is the one that stays then.
  bool isFirst = comesBefore(visited, *equal);
  Operator &op = isFirst ? *equal : visited, *survivor = isFirst ? &visited : equal;
  for (auto [from, to] : llvm::zip(op.results(), survivor->results()))
    if (const char *why = !from != !to ? "one has a result that the other lacks"
                          : from       ? mergeRefusal(*from, *to)
                                       : nullptr)
      return decline(why);
  Operator *const list[] = {&op};
  region = list;
  std::optional<RewriteEvent> event = describe(list, SourceLine::current());
  ++model.rewrites;
  Destinations *into = model.addDestinations();
  bool swapped = op.numOperands() == 2 && op.operand(0) != survivor->operand(0) &&
                 op.operand(1) != survivor->operand(1) &&
                 (op.operand(0) == survivor->operand(1) || op.operand(1) == survivor->operand(0));
  llvm::SmallVector<uint32_t, 2> numbered = lineage::add(*survivor, op, swapped);
  for (auto [from, to] : llvm::zip(op.results(), survivor->results()))
    if (from) {
      takeOver(*from, *to, true, [&](uint32_t lineage) { return numbered[lineage]; });
      into->add(*to);
    }
  survivor->origins = model.sets.join(survivor->origins, op.origins);
  mutation::joined(model, survivor->origins);
  survivor->calls = model.sets.join(survivor->calls, op.calls);
  survivor->setMovedPast(model.sets.join(survivor->movedPast(), op.movedPast()));
  survivor->passes = model.passLists.add(model.passLists.join(survivor->passes, op.passes), pass);
  survivor->inexact |= op.inexact;
  survivor->generation = std::max(survivor->generation, op.generation);
  if (!survivor->origins.empty())
    survivor->synthetic = nullptr;
  else if (op.synthetic)
    survivor->synthetic = model.create(
        Synthetic{survivor->synthetic->reason, model.sets.join(survivor->synthetic->serves, op.synthetic->serves)});
  retire({{&op, into}}, 1, {}, Fate::DuplicateOf);
  region = {};
  if (event) {
    event->value = llvm::cast<Value *>(into->entries.front());
    event->tookOver = std::move(takenOver);
    onRewrite(*event);
  }
  push(*survivor); // other rules may apply to it
  return RewriteResult::applied();
}

void Rewriter::mergeEqualConstants(llvm::StringRef passName) {
  pass = passName;
  rule = "equal";
  std::vector<Value *> copy;
  for (auto &graph : model.subgraphs) {
    if (onRewrite) // who looks on may number the model
      copy = graph->values;
    for (Value *value : onRewrite ? copy : graph->values) {
      forgetSpent();
      restNowAndThen();
      if (value->erased() || !value->isConstant() || value->isInterface() || value->otherUses != 0)
        continue;
      Value *survivor = numbers.find(*value);
      if (!survivor)
        continue;
      ++model.rewrites;
      takenOver.clear();
      llvm::SmallVector<uint32_t, 2> numbered = lineage::add(*survivor, *value);
      takeOver(*value, *survivor, !value->inexact, [&](uint32_t lineage) { return numbered[lineage]; });
      survivor->sourceTensors = model.sets.join(survivor->sourceTensors, value->sourceTensors);
      survivor->sourceOperators = model.sets.join(survivor->sourceOperators, value->sourceOperators);
      mutation::derived(model, *survivor);
      if (!survivor->sourceTensors.empty() || !survivor->sourceOperators.empty())
        survivor->setSynthetic({});
      Destinations *into = model.addDestinations();
      into->add(*survivor);
      eraseValue(*value, Fate::DuplicateOf, into);
      if (onRewrite)
        onRewrite({model.rewrites, pass, rule, SourceLine::current(), graph.get(), {}, {}, survivor});
    }
  }
}

/// Who makes a source tensor does the work of the operator that made it, if that lives on at all: what it did may be
/// nothing here, and something in an operator that was made of it for another user. Where the result equals another
/// tensor as well, that one is without this work, and has a lineage of its own. That it is another one but for some
/// steps goes unsaid where that one itself is there. What was an identity is looked through.
void Rewriter::claimWork() {
  std::vector<bool> live = lineage::liveOperators(model), whole(model.sourceTensors);
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      for (const Relation &relation : value->relations)
        if (relation.steps == 0)
          whole[relation.tensor] = true;
  std::vector<bool> identity(model.sourceOperators);
  for (const Tombstone &row : model.tombstones)
    if (!row.ofTensors && row.fate == Fate::Identity)
      model.sets.forEach(row.ids, [&](uint32_t id) { identity[id] = !live[id]; });
  auto makerOf = [&](uint32_t tensor) {
    int32_t maker = model.sourceGraph.producer(tensor);
    for (unsigned length = 0; length < 64 && maker >= 0 && identity[maker]; ++length) {
      llvm::SmallVector<int32_t, 2> before; // of several operands that are computed, nobody knows which
      for (int32_t operand : model.sourceGraph.operands(maker))
        if (int32_t producer = operand < 0 ? -1 : model.sourceGraph.producer(operand); producer >= 0)
          before.push_back(producer);
      maker = before.size() == 1 ? before.front() : -1;
    }
    return maker;
  };
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      for (Value *result : op.results()) {
        size_t relations = result ? result->relations.size() : 0;
        std::optional<uint32_t> kept; // the lineage of the last one that stays in its own: they are sorted by it
        for (size_t i = 0; i < relations; ++i) {
          Relation &relation = result->relations[i];
          int32_t maker = relation.steps == 0 ? makerOf(relation.tensor) : model.sourceGraph.producer(relation.tensor);
          bool apart =
              kept == relation.lineage || (i + 1 < relations && result->relations[i + 1].lineage == relation.lineage);
          if (maker < 0 || op.origins.empty() || static_cast<size_t>(maker) >= live.size() || !live[maker] ||
              model.sets.contains(lineage::origins(op, relation.lineage), maker) || madeBefore(op, maker)) {
            kept = uint32_t(relation.lineage);
            continue;
          }
          if (relation.steps != 0 && whole[relation.tensor]) {
            result->relations.erase(&relation, &relation + 1);
            --i, --relations;
            continue;
          }
          IdSet claimed = model.sets.single(maker);
          auto isGiven = [&](uint32_t id) {
            return llvm::any_of(op.operands(), [&](const Use &use) {
              return use.get() && use.get()->producer() && model.sets.contains(use.get()->producer()->origins, id);
            });
          };
          for (uint32_t before : madeBetween(op, maker))
            if (relation.steps == 0 && live[before] && !isGiven(before))
              claimed = model.sets.join(claimed, model.sets.single(before));
          IdSet own = model.sets.join(lineage::origins(op, relation.lineage), claimed);
          if (apart)
            relation.lineage = lineage::addLike(op, relation.lineage, own);
          else if (!op.lineages().empty())
            op.makeLineages()[relation.lineage].operators = own;
          op.origins = model.sets.join(op.origins, claimed);
          mutation::joined(model, op.origins);
        }
        if (result)
          sortByLineage(*result);
      }
}

/// Who moves data as several operators of the source do in a row has done what they did: those before the last one, up
/// to what the operator is given, or makes itself.
llvm::SmallVector<uint32_t, 4> Rewriter::madeBetween(const Operator &op, uint32_t last) const {
  llvm::SmallVector<uint32_t, 4> between;
  const Value *data = onlyMoves(op.info()) ? op.operand(0) : nullptr;
  for (unsigned length = 0; length < 64; ++length) {
    llvm::ArrayRef<int32_t> operands = model.sourceGraph.operands(last);
    if (operands.empty() || operands[0] < 0)
      return {};
    auto tensor = static_cast<uint32_t>(operands[0]);
    if (data &&
        llvm::any_of(data->relations, [&](const Relation &one) { return one.tensor == tensor && one.steps == 0; }))
      return between;
    int32_t maker = model.sourceGraph.producer(tensor);
    if (maker >= 0 && model.sets.contains(op.origins, maker))
      return between;
    if (maker < 0)
      return {};
    between.push_back(last = static_cast<uint32_t>(maker));
  }
  return {};
}

/// Is it done by what the moved data comes from, or by a maximum that traded places with the operator?
bool Rewriter::madeBefore(const Operator &op, uint32_t id) const {
  if (const Operator *pool = has(op.info(), Trade::Monotone) && op.operand(0) ? op.operand(0)->producer() : nullptr;
      pool && pool->code == BuiltinOperator::MAX_POOL_2D && model.sets.contains(pool->origins, id))
    return true;
  const Operator *at = &op;
  for (unsigned length = 0; length < 64 && at && at->info(); ++length) {
    if (!onlyMoves(at->info()))
      return false;
    const Value *data = at->operand(at->code == BuiltinOperator::SPLIT ? 1 : 0);
    at = data ? data->producer() : nullptr;
    if (at ? model.sets.contains(at->origins, id) : data && model.sets.contains(data->sourceOperators, id))
      return true;
  }
  return false;
}

/// Of a work that begins and ends with movements, these may have met behind what it makes: then who had taken in the
/// end of it is given the result, or that but for what undoes the end, and has nothing of the work any more.
IdSet Rewriter::doneInFront(const Operator &op, uint32_t lineage) const {
  const IdSet own = lineage::origins(op, lineage);
  const Operator *at = &op;
  IdSet shared = own; // by the movements in between
  for (unsigned length = 0; length < 16; ++length) {
    const Use *data = nullptr;
    for (const Use &use : at->operands())
      if (use.get() && !use.get()->isConstant() && std::exchange(data, &use))
        return {};
    if (!data || !data->get()->producer())
      return {};
    lineage = lineage::ofOperand(*at, lineage, data->operandIndex());
    at = data->get()->producer();
    std::optional<int32_t> first; // of several tensors that it equals, who made the one that is in front
    for (const Relation &relation : data->get()->relations)
      if (int32_t maker = model.sourceGraph.producer(relation.tensor); relation.lineage == lineage && !relation.steps)
        first = std::min(first.value_or(maker), maker);
    if (!first && onlyMoves(at->info())) {
      shared = model.sets.minus(shared, model.sets.minus(own, lineage::origins(*at, lineage)));
      continue;
    }
    if (first.value_or(-1) < 0 || !model.sets.contains(shared, *first) ||
        !model.sets.contains(lineage::origins(*at, lineage), *first))
      return {};
    bool makes = llvm::any_of(op.results(), [&](const Value *result) {
      return result && llvm::any_of(result->relations, [&](const Relation &relation) {
               return model.sourceGraph.producer(relation.tensor) == *first;
             });
    });
    IdSet done = model.sets.single(static_cast<uint32_t>(*first));
    return makes || done == own ? IdSet() : done;
  }
  return {};
}

void Rewriter::forgetDone() {
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      IdSet all;
      for (uint32_t way = 0; way < lineage::count(op); ++way) {
        IdSet left = model.sets.minus(lineage::origins(op, way), doneInFront(op, way));
        if (!op.lineages().empty())
          op.makeLineages()[way].operators = left;
        all = model.sets.join(all, left);
      }
      op.origins = all;
    }
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
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      op.generation = 0;
      push(op);
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
