#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/Undetermined.h"
#include "ir/rewrite/Build.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

/// What a call calls is put in its place: copies of the operators of the subgraph, with what they are to the source.
/// First asked whether that is right, and only then done.
class Rewriter::Inlining {
public:
  Inlining(Rewriter &engine, Operator &call, Subgraph &body);
  const char *refusal() const;
  void apply(SourceLine where);

private:
  Rewriter &engine;
  Model &model;
  Operator &call;
  Subgraph &body, &graph;
  unsigned first;     ///< the operand that is the first input of the body
  const Value &named; ///< what is copied is called after it
  llvm::DenseMap<const Value *, Value *> copies;
  llvm::DenseMap<const Value *, unsigned> operandOf; ///< by input of the body
  Destinations *into = nullptr;

  const char *misfit(unsigned output) const;
  void giveInputs();
  void takeResults();
  Value *copyOf(const Value *value);
  void copyForm(const Value &from, Value &to);
  void copyRelations(const Value &from, Value &to);
  Operator &copyOf(const Operator &op);
  uint32_t lineageOf(const Value *value, uint32_t own) const;
  template <class T> void addHeir(const T &original, T &copy);
  void handOver();
  void noteNotTaken();
};

Rewriter::Inlining::Inlining(Rewriter &engine, Operator &call, Subgraph &body)
    : engine(engine), model(engine.model), call(call), body(body), graph(*call.subgraph()),
      first(call.numOperands() - static_cast<unsigned>(body.inputs.size())), named(*call.result()) {}

static bool isLike(const Value &a, const Value &b) {
  return a.type == b.type && llvm::equal(rewrite::statedShape(a), rewrite::statedShape(b)) &&
         a.hasShape == b.hasShape && sameQuantization(a.quantization, b.quantization);
}

/// Is it a result of one of the body's operators, here for the first time among the outputs?
static bool isMade(const Subgraph &body, unsigned output) {
  const Value *value = body.outputs[output];
  return value->producer() && llvm::find(body.outputs, value) == body.outputs.begin() + output;
}

const char *Rewriter::Inlining::refusal() const {
  if (call.numOperands() < body.inputs.size() || call.results().size() != body.outputs.size())
    return "the subgraph has other inputs or outputs than the call";
  const Rewriter::Body &known = engine.bodies[&body];
  if (known.keepsState)
    return "the subgraph may keep a state of its own";
  if (engine.inlined + known.operators > engine.mostInlined)
    return "inlining has made the model several times as big";
  for (auto [i, input] : llvm::enumerate(body.inputs)) {
    Value *operand = call.operand(first + static_cast<unsigned>(i));
    if (!operand)
      return "an operand is absent";
    if (!isLike(*operand, *input) && !isUndetermined(*input))
      return "an operand has another type or shape than in the subgraph";
  }
  for (unsigned i = 0; i < body.outputs.size(); ++i)
    if (const char *why = misfit(i))
      return why;
  return nullptr;
}

const char *Rewriter::Inlining::misfit(unsigned output) const {
  const Value &result = *call.result(output), &value = *body.outputs[output];
  if (isMade(body, output) && isUndetermined(result))
    return nullptr;
  if (isMade(body, output))
    return result.type != value.type || !rewrite::mayHaveShape(result, rewrite::statedShape(value)) ||
                   !sameQuantization(result.quantization, value.quantization)
               ? "a result has another type or shape than in the subgraph"
               : nullptr;
  auto *input = llvm::find(body.inputs, &value);
  if (input != body.inputs.end())
    return engine.mergeRefusal(result, *call.operand(first + static_cast<unsigned>(input - body.inputs.begin())));
  if (result.isInterface())
    return value.producer() ? "would merge two tensors of the model's interface"
                            : "a graph output would become a constant";
  return engine.mergeRefusal(result, value);
}

/// The lineage of what an operator of the body uses, as its copy does.
uint32_t Rewriter::Inlining::lineageOf(const Value *value, uint32_t own) const {
  auto input = operandOf.find(value);
  return input == operandOf.end() ? own : lineage::ofOperand(call, 0, input->second);
}

/// What leads to the original leads to the copy too.
template <class T> void Rewriter::Inlining::addHeir(const T &original, T &copy) {
  Destinations *&list = engine.bodies[&body].heirs[&original];
  if (!list)
    list = model.addDestinations();
  list->add(copy);
}

/// What the call is given is what the body is given. A constant is none of its inputs, but the source's constant.
void Rewriter::Inlining::giveInputs() {
  for (auto [i, input] : llvm::enumerate(body.inputs)) {
    unsigned position = first + static_cast<unsigned>(i);
    Value &operand = *call.operand(position);
    copies[input] = &operand;
    operandOf[input] = position;
    if (input->named)
      addHeir(*input, operand);
    if (operand.isConstant())
      continue;
    for (uint32_t way = 0; way < lineage::count(call); ++way)
      for (Relation relation : input->relations) {
        relation.lineage = lineage::ofOperand(call, way, position);
        // What many calls are given is known by the first ones.
        auto known = llvm::ArrayRef<Relation>(operand.relations).take_front(16);
        if (llvm::none_of(known, [&](const Relation &one) {
              return one.tensor == relation.tensor && one.steps == relation.steps && one.lineage == relation.lineage;
            }))
          operand.relations.push_back(relation);
      }
    engine.sortByLineage(operand);
    if (!operand.relations.empty())
      operand.noRelation = NoRelation::None;
    mutation::related(model, operand);
  }
}

void Rewriter::Inlining::copyRelations(const Value &from, Value &to) {
  for (const Relation &relation : from.relations)
    // A step that names a constant of the body would name one of another subgraph.
    if (llvm::none_of(model.steps.get(relation.steps), [](const Step &step) {
          return step.scale.kind == Step::Term::Constant || step.shift.kind == Step::Term::Constant;
        }))
      to.relations.push_back(relation);
  mutation::related(model, to);
}

void Rewriter::Inlining::copyForm(const Value &from, Value &to) {
  to.type = from.type;
  to.hasShape = from.hasShape;
  to.hasRank = from.hasRank;
  to.compression = from.compression;
  to.externalBuffer = from.externalBuffer;
  to.shape = from.shape;
  to.setShapeSignature(from.shapeSignature());
  to.setSparsity(from.sparsity());
  to.setVariants(from.variants());
  to.quantization = from.quantization;
  if (const Quantization *details = from.quantization;
      details && (details->more->scales || details->more->zeroPoints)) {
    Quantization own = *details;
    own.more.make().scales = copyOf(details->more->scales);
    own.more.make().zeroPoints = copyOf(details->more->zeroPoints);
    model.setQuantization(to, own);
  }
}

/// Of an intermediate result or a constant; null: absent.
Value *Rewriter::Inlining::copyOf(const Value *value) {
  if (!value)
    return nullptr;
  if (Value *known = copies.lookup(value))
    return known;
  bool constant = value->isConstant();
  Value &copy = constant && value->buffer && value->buffer->computed ? engine.newConstant(graph, value->payload())
                                                                     : engine.newValue(graph);
  copies[value] = &copy;
  if (value->named)
    addHeir(*value, copy);
  if (constant && !copy.buffer)
    copy.buffer = value->buffer;
  copyForm(*value, copy);
  if (!value->name.empty())
    copy.name = engine.label(named, value->name);
  copyRelations(*value, copy);
  copy.noRelation = value->noRelation;
  if (copy.relations.empty() && copy.noRelation == NoRelation::None)
    copy.noRelation = constant ? NoRelation::Approximated : NoRelation::NewIntermediate;
  copy.inexact = value->inexact;
  copy.sourceTensors = value->sourceTensors;
  copy.sourceOperators = value->sourceOperators;
  copy.setSynthetic(value->synthetic());
  if (!value->lineages().empty())
    copy.makeLineages() = value->lineages().vec();
  mutation::derived(model, copy);
  return &copy;
}

/// What the call made is made by operators of the body now. Equal calls that are one have one body.
void Rewriter::Inlining::takeResults() {
  for (auto [i, value] : llvm::enumerate(body.outputs)) {
    if (!isMade(body, static_cast<unsigned>(i)))
      continue;
    Value &result = *call.result(static_cast<unsigned>(i));
    call.resultArray()[i] = nullptr;
    result.definer = nullptr;
    copies[value] = &result;
    if (isUndetermined(result))
      copyForm(*value, result);
    if (value->named)
      addHeir(*value, result);
    if (lineage::count(call) > 1) {
      for (Relation &relation : result.relations)
        relation.lineage = 0;
      result.forEachUse([](Use &use) { lineage::renumber(use, [](uint32_t) { return 0; }); });
    }
    copyRelations(*value, result);
    engine.sortByLineage(result);
    if (!result.relations.empty())
      result.noRelation = NoRelation::None;
  }
}

Operator &Rewriter::Inlining::copyOf(const Operator &op) {
  llvm::SmallVector<Value *, 6> operands, results, intermediates;
  bool inexact = op.inexact; // that of the call says what holds of the body and its inputs
  for (const Use &use : op.operands()) {
    operands.push_back(copyOf(use.get()));
    inexact |= use.get() && use.get()->isGraphInput && use.get()->inexact;
  }
  for (const Value *result : op.results())
    results.push_back(copyOf(result));
  Operator &copy = *engine.newOperator(static_cast<unsigned>(operands.size()));
  copy.code = op.code;
  copy.version = op.version;
  copy.setCustomCode(op.customCode());
  copy.options = op.options;
  copy.setOptions2(op.options2());
  copy.setCustomOptions(op.customOptions());
  copy.largeCustomOptions = op.largeCustomOptions;
  copy.customOptionsFormat = op.customOptionsFormat;
  copy.debugMetadata = op.debugMetadata;
  copy.setMutatingVariableInputs(op.mutatingVariableInputs());
  copy.parent = &graph;
  copy.index = call.index;
  model.attach(copy, operands, results);
  for (const Value *value : op.intermediates())
    intermediates.push_back(copyOf(value));
  if (!intermediates.empty())
    model.setIntermediates(copy, intermediates);
  graph.operators.insert(call.getIterator(), copy);

  copy.origins = op.origins;
  copy.calls = model.sets.join(model.sets.join(op.calls, call.calls), call.origins);
  copy.passes = model.passLists.add(op.passes, engine.pass);
  copy.synthetic = op.synthetic;
  copy.setWide(op.wide());
  copy.setMovedPast(op.movedPast());
  copy.inexact = inexact;
  for (auto [now, before] : llvm::zip(copy.operands(), op.operands()))
    now.lineage = lineageOf(before.get(), before.lineage);
  for (Lineage one : op.lineages()) {
    for (auto [operand, before] : llvm::zip(one.operands, op.operands()))
      operand = lineageOf(before.get(), operand);
    copy.makeLineages().push_back(std::move(one));
  }
  mutation::joined(model, copy.origins);
  copy.made = true;
  copy.destinations = model.addDestinations();
  copy.destinations->entries.push_back(&copy);
  if (op.made || op.named) {
    Destinations *&list = engine.bodies[&body].heirs[&op];
    if (!list)
      list = model.addDestinations();
    list->entries.push_back(copy.destinations);
  }
  engine.created(copy, &call);
  ++engine.inlined;
  return copy;
}

/// The results that the body hands through, or has as constants.
void Rewriter::Inlining::handOver() {
  for (auto [i, value] : llvm::enumerate(body.outputs)) {
    if (isMade(body, static_cast<unsigned>(i))) {
      Destinations *maker = copies[value]->producer()->destinations;
      if (llvm::none_of(into->entries, [&](auto entry) { return llvm::dyn_cast<Destinations *>(entry) == maker; }))
        into->entries.push_back(maker);
      continue;
    }
    Value &to = *copyOf(value), &result = *call.result(static_cast<unsigned>(i));
    auto input = operandOf.find(value);
    engine.takeOver(result, to, input == operandOf.end() || !value->inexact, [&](uint32_t way) {
      return input == operandOf.end() ? 0 : lineage::ofOperand(call, way, input->second);
    });
    if (!value->producer())
      into->add(to);
  }
}

/// What only the other branches need, and what they make, are not needed: that is told of the call. The outputs of what
/// it can call count as operands of it, behind its own.
void Rewriter::Inlining::noteNotTaken() {
  for (auto [i, input] : llvm::enumerate(body.inputs)) {
    unsigned position = first + static_cast<unsigned>(i);
    if (!input->unused())
      continue;
    bool elsewhere = llvm::any_of(call.callees(), [&, i = i](const Subgraph *other) {
      return other != &body && i < other->inputs.size() && !other->inputs[i]->unused();
    });
    if (elsewhere)
      model.noteUnneeded(call, position, UnneededReason::BranchNotTaken);
    engine.unneeded.insert(&call.operands()[position]);
  }
  unsigned position = call.numOperands();
  for (const Subgraph *other : call.callees())
    for (const Value *output : other->outputs) {
      if (other != &body && output->relations.size() == 1 && output->relations[0].steps == 0) {
        uint32_t tensor = output->relations[0].tensor;
        int32_t producer = model.sourceGraph.producer(tensor);
        model.sets.forEach(call.origins, [&](uint32_t user) {
          model.unneeded.push_back({producer < 0, UnneededReason::BranchNotTaken,
                                    producer < 0 ? tensor : static_cast<uint32_t>(producer), user, position});
        });
      }
      ++position;
    }
}

void Rewriter::Inlining::apply(SourceLine where) {
  Operator *const region[] = {&call};
  engine.region = region;
  std::optional<RewriteEvent> event = engine.describe(region, where);
  ++model.rewrites;
  into = model.addDestinations();
  giveInputs();
  takeResults();
  llvm::SmallVector<Operator *, 8> made;
  for (const Operator &op : body.operators)
    made.push_back(&copyOf(op));
  handOver();
  noteNotTaken();
  for (uint32_t source : body.sources)
    if (!llvm::is_contained(graph.sources, source))
      graph.sources.push_back(source);
  auto callees = call.callees();
  engine.retire({{&call, into}}, 1, made, Fate::Inlined);
  engine.region = {};
  if (!event)
    return;
  if (llvm::any_of(callees, [&](Subgraph *callee) { return engine.bodies[callee].calls == 0; }))
    event->subgraph = nullptr; // they are gone too
  event->created.assign(made.begin(), made.end());
  if (made.empty())
    event->value = llvm::cast<Value *>(into->entries.front());
  event->tookOver = std::move(engine.takenOver);
  engine.onRewrite(*event);
}

RewriteResult Rewriter::inlineCall(Operator &call, unsigned callee, SourceLine where) {
  auto callees = call.callees();
  if (callees.size() != call.info()->subgraphFields.size() || callee >= callees.size())
    return decline("it calls what is not there");
  Inlining inlining(*this, call, *callees[callee]);
  if (const char *why = inlining.refusal())
    return decline(why);
  Operator *const root = &call;
  if (std::string spin = spinning(root); !spin.empty())
    return decline(spin);
  inlining.apply(where);
  return RewriteResult::applied();
}

/// Who calls what, and what can be said of bodies.
void Rewriter::lookAtCalls() {
  for (auto &[body, known] : bodies)
    known.calls = 0;
  llvm::SmallVector<Subgraph *> called;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      for (Subgraph *callee : op.callees())
        if (bodies[callee].calls++ == 0)
          called.push_back(callee);
  for (Subgraph *body : called) {
    Body &known = bodies[body];
    // Each operator that draws random numbers has a row of its own; nobody knows what others remember.
    known.keepsState = body->effects() & (uint8_t(Effect::Random) | uint8_t(Effect::Unknown)) ||
                       llvm::any_of(body->values, [](const Value *value) { return value->isVariable; });
    known.operators = body->operators.size();
  }
}

/// A call has gone. What nothing calls any more goes too, if it was there to be called.
void Rewriter::released(Subgraph &body) {
  if (--bodies[&body].calls == 0)
    empty(body);
}

/// Takes out all that is in a subgraph; it goes itself in the end.
void Rewriter::empty(Subgraph &graph) {
  if (&graph == model.subgraphs.front().get() ||
      llvm::any_of(model.signatures, [&](const Signature &one) { return one.subgraph == &graph; }))
    return;
  llvm::SmallVector<Subgraph *> callees;
  for (Value *output : graph.outputs) {
    --output->graphOutputs;
    --output->otherUses;
  }
  graph.outputs.clear();
  const auto heirs = std::move(bodies[&graph].heirs);
  std::vector<Value *> values;
  llvm::copy_if(graph.values, std::back_inserter(values), [](const Value *value) { return !value->erased(); });
  while (!graph.operators.empty()) {
    Operator &op = graph.operators.back();
    llvm::append_range(callees, op.callees());
    Destinations *copies = heirs.lookup(&op);
    if (copies && op.made)
      op.destinations->entries.push_back(copies);
    erase(op, Fate::Dead, nullptr);
    op.destinations = copies;
  }
  for (Value *value : values) {
    if (!value->erased())
      eraseValue(*value, Fate::Dead, nullptr);
    value->setDestinations(heirs.lookup(value));
  }
  graph.inputs.clear();
  doomed.clear(); // all of them have gone
  emptied.insert(&graph);
  for (Subgraph *callee : callees)
    released(*callee);
}

/// What was called once, and is not any more because what called it was dead.
void Rewriter::dropUncalled() {
  lookAtCalls();
  pass = "remove-dead-code";
  for (auto &graph : model.subgraphs)
    if (auto known = bodies.find(graph.get());
        known != bodies.end() && known->second.calls == 0 && !emptied.contains(graph.get()))
      empty(*graph);
  if (!emptied.empty())
    dropSubgraphs([&](const Subgraph &graph) { return emptied.contains(&graph); });
  emptied.clear();
}

} // namespace origo
