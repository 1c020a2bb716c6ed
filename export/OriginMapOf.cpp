#include "export/OriginMapOf.h"

#include "export/Export.h"
#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/text/ExpressionText.h"
#include "origin/Fingerprint.h"
#include "origin/Laws.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

namespace origo {

static_assert(int(Step::Permute) == int(origin::MapStep::Permute) &&
              int(Step::Quantize) == int(origin::MapStep::Quantize) &&
              int(Step::Affine) == int(origin::MapStep::Affine));

MapOfModel::MapOfModel(Model &model, const origin::Lineage &lineage, const Tables &tables, std::string name)
    : model(model), tables(tables), source(*lineage.source), taint(model) {
  map.generator = "origo " ORIGO_VERSION;
  map.chain = lineage.chain;
  map.retrained = lineage.retrained;
  map.target.file = std::move(name);
  map.target.format = tables.tflite ? "tflite" : "circle";
  map.target.laws = origin::allLaws;
  map.target.proof = lineage.proof;
  withView(model, tables, [&](const origin::ModelView &view) {
    map.target.fingerprint = origin::fingerprint(view);
    map.target.content = origin::content(view);
    file.emplace(view);
  });
  for (const auto &[i, graph] : llvm::enumerate(model.subgraphs)) {
    map.target.subgraphs.push_back({file->name(i).str(), {graph->sources.begin(), graph->sources.end()}, {}, {}});
    auto &list = byIndex.emplace_back();
    list.reserve(operatorCount(i));
    for (const Operator &op : graph->operators)
      list.push_back(&op);
    assert(list.size() == operatorCount(i) && graph->values.size() == tensorCount(i) &&
           "the tables are those of the model");
  }
  findDropped();
  refuseLost();
  addDroppedTensors();
  writeUnneeded();
  if (mutation::possible) { // a fault in a row needs rows that stay
    mutated = whole();
    mutation::exported(*mutated);
  }
}

origin::MapView MapOfModel::view() {
  if (mutated)
    return origin::MapView(*mutated);
  return origin::MapView(map, source, *this);
}

origin::OriginMap MapOfModel::whole() {
  if (mutated)
    return *mutated;
  origin::OriginMap result = map;
  result.source = source;
  result.ledger.clear();
  ledger([&](const origin::MapLedgerRow &row) { result.ledger.push_back(row); });
  for (const auto &[i, graph] : llvm::enumerate(result.target.subgraphs)) {
    graph.operators.reserve(operatorCount(i));
    llvm::append_range(graph.operators, operators(i));
    graph.tensors.reserve(tensorCount(i));
    llvm::append_range(graph.tensors, tensors(i));
  }
  return result;
}

void MapOfModel::restNowAndThen() {
  if (++made % (1 << 10))
    return;
  model.restFiles();
  tables.rest();
}

origin::Word MapOfModel::word(llvm::StringRef text) {
  if (text.empty())
    return {};
  auto [entry, isNew] = words.try_emplace(text.data());
  if (isNew || entry->second.str().size() != text.size())
    entry->second = text;
  return entry->second;
}

void MapOfModel::members(IdSet set, std::vector<uint32_t> &ids) const {
  ids.clear();
  model.sets.forEach(set, [&](uint32_t id) { ids.push_back(id); });
}

const origin::OperatorRow &MapOfModel::operatorRow(size_t subgraph, size_t index) {
  restNowAndThen();
  const Operator &op = *byIndex[subgraph][index];
  origin::OperatorRow &row = operatorScratch;
  row.op = file->op(subgraph, index);
  row.customCode = file->customCode(subgraph, index);
  llvm::ArrayRef<int32_t> outputs = file->outputs(subgraph, index);
  row.outputs.resize(outputs.size());
  for (auto [name, output] : llvm::zip_equal(row.outputs, outputs))
    name = output < 0 ? llvm::StringRef() : file->tensorName(subgraph, output);
  members(op.origins, row.origins);
  row.passes.clear();
  for (llvm::StringRef pass : model.passLists.get(op.passes))
    row.passes.push_back(word(pass));
  bool synthetic = op.synthetic && row.origins.empty();
  row.syntheticReason = synthetic ? word(op.synthetic->reason) : origin::Word();
  members(synthetic ? op.synthetic->serves : IdSet(), row.serves);
  row.wide = word(op.wide());
  members(op.calls, row.calls);
  movedPast(op, row.movedPast);
  row.inexact = op.inexact;
  row.lineages.clear();
  if (!op.lineages().empty() || llvm::any_of(op.operands(), [](const Use &use) { return use.lineage != 0; }))
    for (uint32_t i = 0; i < lineage::count(op); ++i) {
      origin::MapLineage &one = row.lineages.emplace_back();
      members(lineage::origins(op, i), one.operators);
      for (unsigned k = 0; k < op.numOperands(); ++k)
        one.operands.push_back(lineage::ofOperand(op, i, k));
    }
  return row;
}

/// Does the tensor come from who does the work of the source operator? A few operators are looked at.
static bool comesFrom(const Value &value, uint32_t id, const IdSets &sets) {
  constexpr size_t most = 64; // the checker looks at as many
  llvm::SmallVector<const Operator *, 8> seen;
  auto add = [&](const Value *from) {
    if (const Operator *producer = from ? from->producer() : nullptr; producer && !llvm::is_contained(seen, producer))
      seen.push_back(producer);
  };
  add(&value);
  for (size_t i = 0; i < std::min(seen.size(), most); ++i) {
    if (sets.contains(seen[i]->origins, id))
      return true;
    for (const Use &use : seen[i]->operands())
      add(use.get());
  }
  return false;
}

/// Of what the operator has moved past, the work whose result its own operators were given in the source, and that is
/// not in front of it again.
void MapOfModel::movedPast(const Operator &op, std::vector<uint32_t> &ids) {
  ids.clear();
  if (op.movedPast().empty() || !model.sourceGraph.known())
    return;
  if (live.empty())
    live = lineage::liveOperators(model);
  auto isItself = [&](const Value &value, uint32_t id) {
    return llvm::any_of(value.relations, [&](const Relation &one) {
      return one.steps == 0 && model.sourceGraph.producer(one.tensor) == static_cast<int32_t>(id);
    });
  };
  auto isInFront = [&](uint32_t id) {
    bool any = false, all = true;
    for (const Use &use : op.operands())
      if (const Value *value = use.get(); value && !value->isConstant())
        any = true, all = all && (isItself(*value, id) || comesFrom(*value, id, model.sets));
    return any && all;
  };
  for (uint32_t way = 0; way < lineage::count(op); ++way) {
    IdSet own = lineage::origins(op, way);
    model.sets.forEach(own, [&](uint32_t id) {
      for (int32_t tensor : model.sourceGraph.operands(id))
        if (int32_t maker = tensor < 0 ? -1 : model.sourceGraph.producer(tensor);
            maker >= 0 && live[maker] && model.sets.contains(op.movedPast(), maker) &&
            !model.sets.contains(own, maker) && !llvm::is_contained(ids, maker) && !isInFront(maker))
          ids.push_back(maker);
    });
  }
  llvm::sort(ids);
}

/// Do relations say of a constant which one of the source it is?
bool MapOfModel::isMoved(const Value &constant) const {
  return llvm::any_of(constant.relations, [&](const Relation &relation) {
    return llvm::all_of(model.steps.get(relation.steps), [](const Step &step) {
      return step.kind == Step::Permute || step.kind == Step::Reshape || step.kind == Step::Slice ||
             step.kind == Step::Quantize;
    });
  });
}

const origin::TensorRow &MapOfModel::tensorRow(size_t subgraph, size_t index) {
  restNowAndThen();
  const Value &value = *model.subgraphs[subgraph]->values[index];
  origin::TensorRow &row = tensorScratch;
  row.index = value.index;
  row.name = file->tensorName(subgraph, index);
  row.constant = isConstant(subgraph, index);
  members(row.constant ? value.sourceTensors : IdSet(), row.tensors);
  members(row.constant ? value.sourceOperators : IdSet(), row.operators);
  row.syntheticReason = row.constant ? word(value.synthetic()) : origin::Word();
  row.inexact = value.inexact;
  row.lineages.clear();
  row.expression =
      row.constant && model.expressions && !isMoved(value) ? expressionText(*model.expressions, value) : "";
  if (row.constant)
    for (const Lineage &one : value.lineages())
      members(one.tensors, row.lineages.emplace_back().tensors), members(one.operators, row.lineages.back().operators);
  size_t count = 0;
  row.relations.resize(value.relations.size());
  for (const Relation &relation : value.relations) {
    if (!expressible(relation, value))
      continue;
    origin::MapRelation &out = row.relations[count++];
    out.tensor = relation.tensor;
    out.exact = taint.exact(value, relation);
    out.inherited = relation.exact && !out.exact;
    out.lineage = relation.lineage;
    out.steps = steps(relation, value);
  }
  row.relations.resize(count);
  row.reason = {};
  if (row.relations.empty())
    row.reason = value.noRelation != NoRelation::None ? word(noRelationName(value.noRelation))
                 : !value.relations.empty()           ? origin::Word("approximated")
                 : !value.synthetic().empty()         ? origin::Word("synthetic")
                                                      : origin::Word("new-intermediate");
  return row;
}

/// False where the term is a constant that is not in the file any more.
static bool termOf(const Step::Term &term, const Value &value, origin::Term &out) {
  switch (term.kind) {
  case Step::Term::None:
    return true;
  case Step::Term::Number:
    out.kind = origin::Term::Number;
    out.number = term.number;
    return true;
  case Step::Term::Source:
    out.kind = origin::Term::Source;
    out.constant = term.tensor;
    return true;
  case Step::Term::Constant:
    out.kind = origin::Term::Constant;
    out.constant = term.constant->index;
    return !term.constant->erased() && term.constant->subgraph() == value.subgraph() && term.constant->isConstant();
  }
  llvm_unreachable("all kinds of terms are above");
}

bool MapOfModel::expressible(const Relation &relation, const Value &value) const {
  origin::Term term;
  return !relation.steps || llvm::all_of(model.steps.get(relation.steps), [&](const Step &step) {
    return termOf(step.scale, value, term) && termOf(step.shift, value, term);
  });
}

const origin::MapSteps &MapOfModel::steps(const Relation &relation, const Value &value) {
  if (std::exchange(lastSteps, relation.steps) == relation.steps)
    return stepScratch; // the relations of equal things that became one
  std::vector<origin::MapStep> list;
  for (const Step &step : model.steps.get(relation.steps)) {
    origin::MapStep &out = list.emplace_back();
    bool scaled = step.kind == Step::Scaled;
    out.kind = scaled ? origin::MapStep::Scaled : static_cast<decltype(out.kind)>(step.kind);
    out.factors.assign(step.factors.begin(), step.factors.end());
    out.axis = step.axis;
    out.first.assign(step.first.begin(), step.first.end());
    out.second.assign(step.second.begin(), step.second.end());
    termOf(step.scale, value, out.scale);
    termOf(step.shift, value, out.shift);
  }
  stepScratch = std::move(list);
  return stepScratch;
}

void MapOfModel::findDropped() {
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      for (const Relation &relation : value->relations)
        if (!expressible(relation, *value))
          dropped.push_back({relation.tensor, value});
}

/// A source tensor whose last relation is one of `dropped` is neither live nor in the model's ledger.
void MapOfModel::addDroppedTensors() {
  if (dropped.empty())
    return;
  std::vector<bool> known(model.sourceTensors);
  for (auto &graph : model.subgraphs)
    for (const auto &[i, value] : llvm::enumerate(graph->values)) {
      for (const Relation &relation : value->relations)
        if (expressible(relation, *value))
          known[relation.tensor] = true;
      if (isConstant(graph->index, i))
        model.sets.forEach(value->sourceTensors, [&](uint32_t id) { known[id] = true; });
    }
  for (auto [id, value] : dropped) {
    if (known[id])
      continue;
    known[id] = true;
    origin::MapLedgerRow row;
    row.isTensor = true;
    row.id = id;
    row.fate = fateName(Fate::FusedAway);
    if (const Operator *producer = value->producer())
      if (auto passes = model.passLists.get(producer->passes); !passes.empty())
        row.pass = passes.back();
    row.run = model.run;
    row.tensors.push_back({value->subgraph()->index, value->index});
    map.ledger.push_back(std::move(row));
  }
  llvm::stable_sort(map.ledger, [](const origin::MapLedgerRow &a, const origin::MapLedgerRow &b) {
    return std::pair(a.isTensor, a.id) < std::pair(b.isTensor, b.id);
  });
}

void MapOfModel::writeUnneeded() {
  model.sortUnneeded();
  map.unneeded.reserve(model.unneeded.size());
  for (const Unneeded &item : model.unneeded)
    map.unneeded.push_back({item.ofTensor, item.id, item.user, item.position, unneededName(item.reason)});
  if (model.expressions)
    for (const ConstantExpressions::Assumption &one : model.expressions->assumptions())
      map.assumptions.push_back({one.number, one.numerator, one.denominator, word(one.pass)});
}

void MapOfModel::ledger(llvm::function_ref<void(const origin::MapLedgerRow &)> visit) {
  auto key = [](const auto &row) { return std::pair(row.isTensor, row.id); };
  auto extra = map.ledger.begin();
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  model.ledger(lost, [&](const LedgerRow &row) {
    for (; extra != map.ledger.end() && key(*extra) < key(row); ++extra)
      visit(*extra);
    origin::MapLedgerRow &out = ledgerScratch;
    out.isTensor = row.isTensor;
    out.id = row.id;
    out.fate = word(fateName(row.fate));
    out.was = row.was != Fate::Unknown ? word(fateName(row.was)) : origin::Word();
    out.pass = word(row.pass);
    members(row.with, out.with);
    out.run = row.run;
    out.rewrite = row.rewrite;
    out.partFile = row.part ? word(row.part->file) : origin::Word();
    out.partFingerprint = row.part ? word(row.part->fingerprint) : origin::Word();
    auto places = [](const LedgerRow &from, auto &operators, auto &tensors) {
      operators.clear();
      for (const Operator *op : from.operators)
        operators.push_back({op->subgraph()->index, op->index});
      tensors.clear();
      for (const Value *value : from.values)
        tensors.push_back({value->subgraph()->index, value->index});
    };
    places(row, out.operators, out.tensors);
    out.ledTo.reset();
    if (row.led && (row.operators != row.led->operators || row.values != row.led->values))
      places(*row.led, out.ledTo.emplace().operators, out.ledTo->tensors);
    visit(out);
  });
  for (; extra != map.ledger.end(); ++extra)
    visit(*extra);
}

void MapOfModel::refuseLost() {
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  model.ledger(lost);
  if (lost.empty() || mutation::possible) // a mutant is written, for the laws to judge
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "broken invariant: neither live nor in the ledger:";
  for (auto [isTensor, id] : llvm::ArrayRef(lost).take_front(20))
    os << (isTensor ? " tensor " : " operator ") << id;
  if (lost.size() > 20)
    os << " and " << lost.size() - 20 << " more";
  llvm::report_fatal_error(llvm::StringRef(text));
}

llvm::Error checkHasSource(const origin::Lineage &lineage) {
  if (lineage.source)
    return llvm::Error::success();
  return makeError("the model has no source that an origin map could lead to");
}

origin::Listing listingOf(const Model &model, const Tables &tables) {
  origin::Listing listing;
  withView(model, tables, [&](const origin::ModelView &view) { listing = origin::describe(view); });
  listing.format = tables.tflite ? "tflite" : "circle";
  return listing;
}

llvm::Expected<origin::OriginMap> originMapOf(Model &model, const origin::Lineage &lineage, Format format) {
  if (llvm::Error error = checkHasSource(lineage))
    return error;
  model.number();
  if (llvm::Error error = checkExpressible(model, format))
    return error;
  llvm::Expected<std::unique_ptr<Tables>> tables = buildTables(model, {.format = format});
  if (!tables)
    return tables.takeError();
  return MapOfModel(model, lineage, **tables, "").whole();
}

llvm::Expected<std::shared_ptr<origin::Listing>> listingOf(Model &model, Format format) {
  model.number();
  if (llvm::Error error = checkExpressible(model, format))
    return error;
  llvm::Expected<std::unique_ptr<Tables>> tables = buildTables(model, {.format = format});
  if (!tables)
    return tables.takeError();
  auto listing = std::make_shared<origin::Listing>(listingOf(model, **tables));
  withView(model, **tables, [&](const origin::ModelView &view) { origin::measure(view, *listing); });
  return listing;
}

} // namespace origo
