#include "ir/Rewriter.h"

#include "ir/Mutation.h"
#include "ir/Versions.h"
#include "ir/shapes/Inference.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"

#include <utility>

namespace origo {

static bool allUnused(const Operator &op) {
  return llvm::all_of(op.results(), [](Value *v) { return !v || v->unused(); });
}

std::string RewriteEvent::text() const {
  std::string line = ("rewrite " + llvm::Twine(number) + " (" + pass + " / " + rule + ", " +
                      llvm::sys::path::filename(where.file) + ":" + llvm::Twine(where.line) + ")")
                         .str();
  for (const Before &op : before)
    line += ", " + op.op + " \"" + printable(op.name) + '"';
  return line;
}

Rewriter::~Rewriter() {
  llvm::consumeError(std::move(error));
  for (Operator *op : worklist)
    op->queued = false; // for the next one
}

void Rewriter::begin(llvm::StringRef passName, llvm::StringRef ruleName, Operator &op) {
  pass = passName;
  rule = ruleName;
  root = &op;
  consumed.assign({&op});
  model.spare.insert(model.spare.end(), spent.begin(), spent.end());
  spent.clear();
  llvm::copy_if(spentConstants, std::back_inserter(model.spareConstants),
                [](auto &spare) { return !spare.second->named; });
  spentConstants.clear();
  pending.clear();
  newConstants.clear();
  standIns.clear();
  created.clear();
}

void Rewriter::consume(Operator &op) {
  if (!llvm::is_contained(consumed, &op))
    consumed.push_back(&op);
}

Draft Rewriter::draft(BuiltinOperator code, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<wire::ScalarEdit> edits) {
  Draft d;
  d.code = code;
  d.operands.assign(operands.begin(), operands.end());
  if (const OperatorInfo *row = operatorInfo(code); row->options != circle::BuiltinOptions::NONE)
    d.options = model.editOptions({static_cast<uint8_t>(row->options), nullptr}, edits);
  return d;
}

Draft Rewriter::clone(Operator &op, llvm::ArrayRef<wire::ScalarEdit> edits) {
  Draft d;
  d.code = op.code;
  d.options = op.options;
  // A file may leave the table out where all is default, and the type with it.
  if (!edits.empty()) {
    if (!d.options.member)
      d.options.member = static_cast<uint8_t>(op.info()->options);
    d.options = model.editOptions(d.options, edits);
  }
  for (Use &use : op.operands())
    d.operands.push_back(use.get());
  d.base = &op;
  return d;
}

Value *Rewriter::insert(Draft draft, TensorType type, llvm::ArrayRef<int32_t> shape, const Quantization *quantization) {
  Value &value = model.addValue(*root->subgraph());
  value.type = type;
  value.hasShape = true;
  value.hasRank = true;
  value.shape.assign(shape.begin(), shape.end());
  const OperatorInfo *row = operatorInfo(draft.code);
  value.name =
      label((row ? row->name.lower() : "value") + (pending.empty() ? "" : "_" + std::to_string(pending.size())));
  if (quantization)
    model.setQuantization(value, *quantization);
  value.noRelation = "new-intermediate";
  pending.push_back({std::move(draft), &value});
  return &value;
}

Value *Rewriter::insertLike(Draft draft, const Value &like) {
  Value *value = insert(std::move(draft), like.type, like.shape);
  value->hasShape = like.hasShape;
  value->hasRank = like.hasRank;
  value->shapeSignature = like.shapeSignature;
  return value;
}

Value *Rewriter::insertUnmoved(Draft draft, const Value &of, const Value &shape, const Step &step) {
  Value *value = insert(std::move(draft), of.type, shape.shape, of.quantization);
  value->hasShape = shape.hasShape;
  value->hasRank = shape.hasRank;
  value->shapeSignature = shape.shapeSignature;
  // What other rewrites brought to `of` may have been computed by operators that this one does not stand for.
  if (root->passes == 0 && !of.relations.empty()) {
    Relation relation = of.relations.front();
    relation.steps = model.steps.append(relation.steps, step);
    value->relations.push_back(relation);
    value->noRelation = {};
  }
  return value;
}

Value *Rewriter::movedConstant(Payload payload, llvm::ArrayRef<int32_t> shape, Value &from,
                               llvm::ArrayRef<Step> steps) {
  Value *value = inventedConstant(std::move(payload), from.type, shape, from.name);
  if (from.quantization)
    model.setQuantization(*value, *from.quantization);
  value->sourceTensors = from.sourceTensors;
  value->sourceOperators = from.sourceOperators;
  value->synthetic = from.synthetic;
  value->noRelation = from.noRelation;
  for (Relation relation : from.relations) {
    for (const Step &step : steps)
      relation.steps = model.steps.append(relation.steps, step);
    value->relations.push_back(relation);
  }
  return value;
}

Value *Rewriter::constant(Payload payload, TensorType type, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<Value *> from,
                          const Operator *base, std::optional<llvm::SmallVector<Step, 2>> steps, bool exact) {
  Value *value = inventedConstant(std::move(payload), type, shape, from.front()->name);
  value->synthetic = value->noRelation = {};
  for (Value *source : from) {
    value->sourceTensors = model.sets.join(value->sourceTensors, source->sourceTensors);
    value->sourceOperators = model.sets.join(value->sourceOperators, source->sourceOperators);
  }
  for (Operator *op : consumed)
    if (op != base)
      value->sourceOperators = model.sets.join(value->sourceOperators, op->origins);
  if (steps)
    for (Relation relation : from.front()->relations) {
      for (const Step &step : *steps)
        relation.steps = model.steps.append(relation.steps, step);
      relation.exact &= exact;
      value->relations.push_back(relation);
    }
  mutation::derived(model, *value);
  mutation::related(model, *value);
  if (value->relations.empty())
    value->noRelation = "approximated";
  if (value->sourceTensors.empty() && value->sourceOperators.empty())
    value->synthetic = "invented-constant";
  return value;
}

/// One that this run has made and erased is used again, with its buffer.
Value &Rewriter::newConstant(Payload payload) {
  if (model.spareConstants.empty() || model.spareConstants.back().first != root->parent) {
    Value &value = model.addValue(*root->subgraph());
    value.buffer = &model.addBuffer(std::move(payload));
    value.buffer->computed = true;
    return value;
  }
  Value *value = model.spareConstants.back().second;
  model.spareConstants.pop_back();
  Buffer *buffer = value->buffer;
  if (value->index == Value::unlisted)
    root->parent->values.push_back(value);
  value->~Value();
  new (value) Value();
  value->parent = root->parent;
  value->buffer = buffer;
  buffer->payload = std::move(payload);
  return *value;
}

Value *Rewriter::inventedConstant(Payload payload, TensorType type, llvm::ArrayRef<int32_t> shape,
                                  llvm::StringRef label) {
  Value &value = newConstant(std::move(payload));
  value.type = type;
  value.hasShape = true;
  value.shape.assign(shape.begin(), shape.end());
  value.name = label;
  value.synthetic = "invented-constant";
  value.noRelation = "synthetic";
  newConstants.push_back(&value);
  return &value;
}

/// Why no rewrite at all may touch what was matched.
const char *Rewriter::refusal() const {
  for (Operator *op : consumed)
    if (op->effects() != 0)
      return "an operator with effects is neither moved nor replaced";
  bool inScope = scopes.empty() || llvm::any_of(scopes, [&](const Scope &scope) {
                   return scope.root == root->code &&
                          (!scope.other || llvm::any_of(llvm::ArrayRef(consumed).drop_front(),
                                                        [&](Operator *op) { return op->code == *scope.other; }));
                 });
  return inScope ? nullptr : "not asked for by the given flags";
}

llvm::StringRef Rewriter::label(llvm::StringRef suffix) {
  return model.copy(llvm::StringRef((root->result()->name + "/" + suffix).str()));
}

void Rewriter::abandon() {
  for (Value *value : newConstants) {
    spentConstants.emplace_back(std::exchange(value->parent, nullptr), value);
    dropPayload(*value);
  }
  for (Pending &p : pending)
    p.result->parent = nullptr;
}

RewriteResult Rewriter::fail(llvm::Error failure) {
  error = llvm::joinErrors(std::move(error), std::move(failure));
  return decline("the environment failed");
}

/// One that this run has made and erased is used again, with the room that it has for operands and results.
Operator *Rewriter::newOperator() {
  if (model.spare.empty())
    return new (model.operatorArena.Allocate()) Operator();
  Operator *op = model.spare.back();
  model.spare.pop_back();
  Use *uses = op->operandUses;
  Value **results = op->resultValues;
  unsigned operandRoom = op->operandRoom, resultRoom = op->resultRoom;
  bool queued = op->queued; // the worklist has it already
  op->~Operator();
  new (op) Operator();
  op->operandUses = uses;
  op->resultValues = results;
  op->operandRoom = operandRoom;
  op->resultRoom = resultRoom;
  op->queued = queued;
  return op;
}

/// `into`: the list that is to name it, and no other.
Operator &Rewriter::make(const Draft &draft, llvm::ArrayRef<Value *> results, Successors &into, bool several) {
  Operator *op = newOperator();
  into.entries.push_back(op);
  op->successors = &into;
  op->made = true;
  created.push_back(op);
  op->code = draft.code;
  op->options = draft.options;
  op->parent = root->parent;
  op->index = root->index; // until the model is numbered again: what tells which of two comes first
  if (const Operator *base = draft.base) {
    op->customCode = base->customCode;
    op->options2 = base->options2;
    op->customOptions = base->customOptions;
    op->largeCustomOptions = base->largeCustomOptions;
    op->customOptionsFormat = base->customOptionsFormat;
    op->debugMetadata = base->debugMetadata;
    op->mutatingVariableInputs = base->mutatingVariableInputs;
  }
  model.attach(*op, draft.operands, results);
  root->parent->operators.insert(root->getIterator(), *op);
  op->version = lowestVersion(*op);

  llvm::ArrayRef<Operator *> stands = draft.standsFor;
  for (Operator *from : stands)
    standIns.emplace_back(from, op);
  if (stands.empty()) {
    if (several && consumed.size() > 1)
      llvm::report_fatal_error(llvm::Twine(pass) + ": a rewrite that consumes and creates several operators must say "
                                                   "what each one stands for");
    stands = consumed;
  }
  IdSet serves;
  llvm::StringRef reason;
  op->inexact = !draft.exact;
  for (Operator *from : stands) {
    op->origins = model.sets.join(op->origins, from->origins);
    op->passes = model.passLists.join(op->passes, from->passes);
    op->calls = model.sets.join(op->calls, from->calls);
    op->inexact |= from->inexact;
    if (!from->wide->empty())
      op->wide = from->wide;
    if (from->synthetic) {
      serves = model.sets.join(serves, from->synthetic->serves);
      reason = from->synthetic->reason;
    }
  }
  mutation::joined(model, op->origins);
  if (op->origins.empty())
    op->synthetic = model.create(Synthetic{reason, serves});
  op->passes = model.passLists.add(op->passes, pass);
  push(*op);
  return *op;
}

/// What an observer wants to know of the operators that are about to go.
std::optional<RewriteEvent> Rewriter::describe(SourceLine where) const {
  if (!onRewrite)
    return std::nullopt;
  RewriteEvent event{model.rewrites + 1, pass, rule, where, root->parent, {}, {}, nullptr};
  for (Operator *op : consumed)
    event.before.push_back({op->opName(), op->result() ? op->result()->name.str() : "", op->origins, false});
  return event;
}

RewriteResult Rewriter::replace(Draft draft, SourceLine where) {
  if (const char *why = refusal())
    return decline(why);
  std::optional<RewriteEvent> event = describe(where);
  Successors *into = model.addSuccessors();
  bool several = !pending.empty();
  auto list = [&] {
    if (!several)
      return into;
    Successors *own = model.addSuccessors();
    into->entries.push_back(own);
    return own;
  };
  for (Pending &p : pending)
    make(p.draft, {p.result}, *list(), several);
  llvm::SmallVector<Value *> results(root->results().begin(), root->results().end());
  for (unsigned i = 0; i < results.size(); ++i)
    if (results[i]) {
      results[i]->definer = nullptr;
      root->resultValues[i] = nullptr;
      mutation::related(model, *results[i]);
    }
  make(draft, results, *list(), several);
  return finish(Fate::FusedAway, into, std::move(event));
}

/// Why `to` cannot stand in the place of `from`.
const char *Rewriter::mergeRefusal(const Value &from, const Value &to) const {
  if (from.type != to.type || from.shape != to.shape || from.shapeSignature != to.shapeSignature ||
      !sameQuantization(from.quantization, to.quantization))
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

/// Users, interface and relations of `from` go to `to`.
void Rewriter::takeOver(Value &from, Value &to, bool exact) {
  if (from.isInterface()) {
    moveInterface(from, to);
    to.producer()->inexact |= !exact;
  }
  from.forEachUse([&](Use &use) {
    push(*use.owner);
    use.owner->inexact |= !exact;
    use.set(&to);
  });
  for (Relation relation : from.relations) {
    relation.exact &= exact;
    to.relations.push_back(relation);
  }
  mutation::related(model, to);
  if (!to.relations.empty())
    to.noRelation = {};
  from.relations.clear();
}

RewriteResult Rewriter::replaceWithValue(Value *value, Fate fate, bool exact, SourceLine where) {
  if (const char *why = refusal())
    return decline(why);
  Value *old = root->result();
  if (const char *why = mergeRefusal(*old, *value))
    return decline(why);
  std::optional<RewriteEvent> event = describe(where);
  takeOver(*old, *value, exact && fate != Fate::QuantizationCancelled);
  Successors *into = model.addSuccessors();
  into->entries.push_back(value);
  value->named = true;
  return finish(fate, into, std::move(event));
}

RewriteResult Rewriter::mergeInto(Operator &survivor, SourceLine where) {
  if (const char *why = refusal())
    return decline(why);
  for (auto [from, to] : llvm::zip(root->results(), survivor.results()))
    if (const char *why = !from != !to ? "one has a result that the other lacks"
                          : from       ? mergeRefusal(*from, *to)
                                       : nullptr)
      return decline(why);
  std::optional<RewriteEvent> event = describe(where);
  Successors *into = model.addSuccessors();
  for (auto [from, to] : llvm::zip(root->results(), survivor.results()))
    if (from) {
      takeOver(*from, *to, true);
      into->entries.push_back(to);
      to->named = true;
    }
  survivor.origins = model.sets.join(survivor.origins, root->origins);
  mutation::joined(model, survivor.origins);
  survivor.calls = model.sets.join(survivor.calls, root->calls);
  survivor.passes = model.passLists.add(model.passLists.join(survivor.passes, root->passes), pass);
  survivor.inexact |= root->inexact;
  if (!survivor.origins.empty())
    survivor.synthetic = nullptr;
  else if (root->synthetic)
    survivor.synthetic = model.create(
        Synthetic{survivor.synthetic->reason, model.sets.join(survivor.synthetic->serves, root->synthetic->serves)});
  return finish(Fate::DuplicateOf, into, std::move(event));
}

void Rewriter::mergeConstants(llvm::StringRef name, Value &survivor, Value &duplicate) {
  pass = name;
  ++model.rewrites;
  takeOver(duplicate, survivor, true);
  survivor.sourceTensors = model.sets.join(survivor.sourceTensors, duplicate.sourceTensors);
  survivor.sourceOperators = model.sets.join(survivor.sourceOperators, duplicate.sourceOperators);
  mutation::derived(model, survivor);
  if (!survivor.sourceTensors.empty() || !survivor.sourceOperators.empty())
    survivor.synthetic = {};
  Successors *into = model.addSuccessors();
  into->entries.push_back(&survivor);
  survivor.named = true;
  Subgraph *graph = duplicate.parent;
  eraseValue(duplicate, Fate::DuplicateOf, into);
  if (onRewrite)
    onRewrite({model.rewrites, pass, "equal", SourceLine::current(), graph, {}, {}, &survivor});
}

RewriteResult Rewriter::replaceWithConstants(llvm::MutableArrayRef<Payload> payloads, bool exact, SourceLine where) {
  if (const char *why = refusal())
    return decline(why);
  for (Value *value : root->results())
    if (value && value->isInterface())
      return decline("a graph output would become a constant");
  std::optional<RewriteEvent> event = describe(where);
  Successors *into = model.addSuccessors();
  for (unsigned i = 0; i < root->results().size(); ++i) {
    Value *value = root->result(i);
    if (!value || value->unused())
      continue;
    for (Operator *op : consumed) {
      value->sourceOperators = model.sets.join(value->sourceOperators, op->origins);
      for (Use &use : op->operands())
        if (Value *operand = use.get(); operand && operand->isConstant()) {
          value->sourceTensors = model.sets.join(value->sourceTensors, operand->sourceTensors);
          value->sourceOperators = model.sets.join(value->sourceOperators, operand->sourceOperators);
        }
    }
    mutation::derived(model, *value);
    for (Relation &relation : value->relations)
      relation.exact &= exact;
    mutation::related(model, *value);
    if (value->sourceTensors.empty() && value->sourceOperators.empty())
      value->synthetic = "invented-constant";
    value->definer = nullptr;
    value->buffer = &model.addBuffer(std::move(payloads[i]));
    value->buffer->computed = true;
    root->resultValues[i] = nullptr;
    value->forEachUse([&](Use &use) { push(*use.owner); });
    into->entries.push_back(value);
    value->named = true;
  }
  if (into->entries.empty())
    return decline("nothing uses it");
  return finish(Fate::FoldedToConstant, into, std::move(event));
}

/// Where the work of a consumed operator went: to those that were said to stand for it, else to all that were made.
Successors *Rewriter::successorsOf(const Operator &op, Successors *all) {
  Successors *own = nullptr;
  for (auto [from, standIn] : standIns)
    if (from == &op) {
      own = own ? own : model.addSuccessors();
      own->entries.push_back(standIn->successors);
    }
  return own ? own : all;
}

/// Erases what was consumed and is needed no more. `into`: the created operators, or the value that took over.
RewriteResult Rewriter::finish(Fate fate, Successors *into, std::optional<RewriteEvent> event) {
  ++model.rewrites;
  for (Operator *op : created) {
    for (Value *result : op->results())
      if (result)
        result->forEachUse([&](Use &use) { push(*use.owner); });
    for (Use &use : op->operands())
      if (Value *v = use.get(); v && v->producer())
        push(*v->producer());
  }
  for (auto entry : into->entries)
    if (auto *value = llvm::dyn_cast<Value *>(entry); value && value->producer())
      push(*value->producer());
  erase(*root, fate, successorsOf(*root, into));
  // Matchers may have come upon one before the other that uses it.
  for (bool again = true; std::exchange(again, false);)
    for (Operator *op : llvm::ArrayRef(consumed).drop_front())
      if (!op->erased() && allUnused(*op)) {
        erase(*op, fate, successorsOf(*op, into));
        again = true;
      }
  eraseDoomed();
  for (Value *value : newConstants)
    if (value->unused())
      release(value, Fate::Dead, nullptr);
  if (event) {
    for (auto [before, op] : llvm::zip(event->before, consumed))
      before.kept = !op->erased();
    event->created.assign(created.begin(), created.end());
    if (created.empty())
      event->value = llvm::cast<Value *>(into->entries.front());
    onRewrite(*event);
  }
  return RewriteResult::applied();
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

void Rewriter::push(Operator &op) {
  if (op.queued || op.erased())
    return;
  op.queued = true;
  worklist.push_back(&op);
}

void Rewriter::pushAll() {
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      push(op);
}

Operator *Rewriter::popChanged() {
  while (!worklist.empty()) {
    Operator *op = worklist.front();
    worklist.pop_front();
    op->queued = false;
    if (!op->erased())
      return op;
  }
  return nullptr;
}

} // namespace origo
