#include "import/Lineage.h"

#include "ir/ConstantExpressions.h"
#include "ir/Lineage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace origo {

using llvm::Error;
using llvm::Twine;

namespace {

/// More steps than any way from a source tensor has; interning a list takes time that grows with its square.
constexpr size_t maxSteps = 64;

Error bad(const Twine &what) {
  return makeError("its origin map is not consistent: " + what + "; use --origin=restart or --origin=ignore");
}

class MapReader {
public:
  MapReader(const origin::OriginMap &map, bool dropConstants, Model &model, bool payloads)
      : map(map), dropConstants(dropConstants), payloads(payloads), tellsInexact(tells(map)), model(model) {}
  Error run();

private:
  const origin::OriginMap &map;
  const bool dropConstants, payloads;
  const bool tellsInexact; ///< what is inexact by itself, as maps of before do not
  Model &model;
  llvm::StringMap<llvm::StringRef> texts;
  bool unknownSteps = false, lostConstants = false;
  std::vector<std::vector<Operator *>> operators; ///< by subgraph and index

  /// Equal texts have equal addresses, which is how lists of passes tell them apart.
  llvm::StringRef intern(llvm::StringRef text) {
    if (text.empty())
      return {};
    llvm::StringRef &copy = texts[text];
    if (copy.empty())
      copy = model.copy(text);
    return copy;
  }
  bool known(llvm::ArrayRef<uint32_t> ids, uint32_t count) const {
    return llvm::all_of(ids, [&](uint32_t id) { return id < count; });
  }

  /// A file that was only converted does not say that the run knew the laws.
  static bool tells(const origin::OriginMap &map) {
    auto any = [](auto &rows) { return llvm::any_of(rows, [](auto &row) { return row.inexact; }); };
    return map.target.laws >= 13 || llvm::any_of(map.target.subgraphs, [&](const origin::TargetSubgraph &graph) {
             return any(graph.operators) || any(graph.tensors);
           });
  }
  Error operatorRow(const origin::OperatorRow &row, Operator &op);
  Error tensorRow(const origin::TensorRow &row, Value &value);
  bool soundSteps(const origin::MapRelation &relation, const Value &value) const;
  uint32_t steps(const origin::MapRelation &relation, const Subgraph &graph);
  Error ledgerRow(const origin::MapLedgerRow &row);
  void sourceGraph();
  Error unneeded(const origin::MapUnneeded &row);
  Error nothingLost();
  Error lineages() const;
};

Error MapReader::operatorRow(const origin::OperatorRow &row, Operator &op) {
  auto place = [&] {
    return "operator " + Twine(op.index).str() + " of subgraph " + Twine(op.subgraph()->index).str();
  };
  for (llvm::ArrayRef<uint32_t> ids : {llvm::ArrayRef(row.origins), llvm::ArrayRef(row.serves),
                                       llvm::ArrayRef(row.calls), llvm::ArrayRef(row.movedPast)})
    if (!known(ids, model.sourceOperators))
      return bad(place() + " has an origin that the source does not have");
  if (row.origins.empty() == row.syntheticReason.empty())
    return bad(place() + " must have either origins or a reason to be synthetic");
  if (!row.syntheticReason.empty() && row.serves.empty())
    return bad(place() + " is synthetic and serves nothing");
  op.origins = model.sets.of(row.origins);
  for (const origin::Word &pass : row.passes)
    op.passes = model.passLists.add(op.passes, intern(pass));
  if (!row.syntheticReason.empty())
    op.synthetic = model.create<Synthetic>({intern(row.syntheticReason), model.sets.of(row.serves)});
  if (!row.wide.empty())
    op.setWide(intern(row.wide));
  op.calls = model.sets.of(row.calls);
  op.setMovedPast(model.sets.of(row.movedPast));
  op.inexact = row.inexact;
  for (const origin::MapLineage &one : row.lineages) {
    if (one.operands.size() != op.numOperands() || !known(one.operators, model.sourceOperators))
      return bad(place() + " has a lineage that it cannot have");
    if (&one == &row.lineages.front())
      for (auto [use, number] : llvm::zip_equal(op.operands(), one.operands))
        use.lineage = number;
    if (row.lineages.size() > 1)
      op.makeLineages().push_back({model.sets.of(one.operators), {}, {one.operands.begin(), one.operands.end()}});
  }
  return Error::success();
}

/// Permutations are composed and parts compared without further checks, so ranks have to agree along the way. Walked
/// from the tensor's own rank back; behind a reshape the rank is open.
bool MapReader::soundSteps(const origin::MapRelation &relation, const Value &value) const {
  using origin::MapStep;
  std::optional<size_t> rank;
  if (value.rank() || value.hasRank)
    rank = value.rank();
  auto fits = [&](size_t size) {
    bool same = !rank || *rank == size;
    rank = size;
    return same;
  };
  auto soundTerm = [&](const origin::Term &term) {
    return std::isfinite(term.number) &&
           (term.kind != origin::Term::Constant || term.constant < value.subgraph()->values.size()) &&
           (term.kind != origin::Term::Source || term.constant < model.sourceTensors);
  };
  if (relation.steps.size() > maxSteps)
    return false;
  for (const MapStep &step : llvm::reverse(relation.steps)) {
    switch (step.kind) {
    case MapStep::Permute: {
      llvm::SmallVector<bool> seen(step.first.size());
      for (int64_t axis : step.first)
        if (axis < 0 || axis >= static_cast<int64_t>(seen.size()) || std::exchange(seen[axis], true))
          return false;
      if (!fits(seen.size()))
        return false;
      break;
    }
    case MapStep::Slice:
    case MapStep::Placed:
      if (step.first.size() != step.second.size() || !fits(step.first.size()) ||
          llvm::any_of(step.first, [](int64_t n) { return n < 0 || n > INT32_MAX; }) ||
          llvm::any_of(step.second, [](int64_t n) { return n < 0 || n > INT32_MAX; }))
        return false;
      break;
    case MapStep::Affine:
      if (!soundTerm(step.scale) || !soundTerm(step.shift) || step.axis < -1 ||
          (rank && step.axis >= static_cast<int64_t>(*rank)))
        return false;
      break;
    case MapStep::Scaled:
      if (step.axis < 0 || (rank && step.axis >= static_cast<int64_t>(*rank)))
        return false;
      break;
    case MapStep::Reshape:
    case MapStep::Unknown:
      rank = std::nullopt;
      break;
    case MapStep::Cast:
    case MapStep::Quantize:
      break;
    }
  }
  return true;
}

uint32_t MapReader::steps(const origin::MapRelation &relation, const Subgraph &graph) {
  auto term = [&](const origin::Term &from) {
    Step::Term to;
    if (from.kind == origin::Term::Number)
      to = Step::Term::of(from.number);
    else if (from.kind == origin::Term::Constant)
      to = Step::Term::of(graph.values[from.constant]);
    else if (from.kind == origin::Term::Source)
      to = Step::Term::ofSource(from.constant);
    return to;
  };
  static constexpr Step::Kind kinds[] = {Step::Permute, Step::Reshape, Step::Slice,   Step::Placed,
                                         Step::Cast,    Step::Affine,  Step::Quantize};
  uint32_t list = 0;
  for (const origin::MapStep &from : relation.steps) {
    Step step;
    step.kind = from.kind == origin::MapStep::Scaled ? Step::Scaled : kinds[from.kind];
    step.factors.assign(from.factors.begin(), from.factors.end());
    step.axis = from.axis;
    step.scale = term(from.scale);
    step.shift = term(from.shift);
    step.first.assign(from.first.begin(), from.first.end());
    step.second.assign(from.second.begin(), from.second.end());
    list = model.steps.append(list, step);
  }
  return list;
}

Error MapReader::tensorRow(const origin::TensorRow &row, Value &value) {
  auto place = [&] {
    return "tensor " + Twine(value.index).str() + " of subgraph " + Twine(value.subgraph()->index).str();
  };
  if (!known(row.tensors, model.sourceTensors) || !known(row.operators, model.sourceOperators))
    return bad(place() + " has an origin that the source does not have");
  value.sourceTensors = model.sets.of(row.tensors);
  value.sourceOperators = model.sets.of(row.operators);
  if (value.isConstant() && row.lineages.size() > 1)
    for (const origin::MapLineage &one : row.lineages) {
      if (!known(one.tensors, model.sourceTensors) || !known(one.operators, model.sourceOperators))
        return bad(place() + " has an origin that the source does not have");
      value.makeLineages().push_back({model.sets.of(one.operators), model.sets.of(one.tensors)});
    }
  if (!row.expression.empty() && value.isConstant() && payloads && !dropConstants)
    model.makeExpressions().add(value, model.copy(llvm::StringRef(row.expression)));
  lostConstants |= !payloads && !row.tensors.empty() && !value.isConstant(); // it is one, whose bytes are missing
  if (!row.syntheticReason.empty())
    value.setSynthetic(intern(row.syntheticReason));
  if (!row.reason.empty())
    value.noRelation = noRelationFromName(row.reason);
  for (const origin::MapRelation &relation : row.relations) {
    if (relation.tensor >= model.sourceTensors)
      return bad(place() + " is related to a tensor that the source does not have");
    if (!soundSteps(relation, value))
      return bad(place() + " has a relation whose steps cannot be followed");
    if (llvm::any_of(relation.steps,
                     [](const origin::MapStep &step) { return step.kind == origin::MapStep::Unknown; })) {
      unknownSteps = true; // of a later version; what it claims cannot be carried on
      continue;
    }
    if (dropConstants && value.isConstant())
      continue;
    if (relation.lineage > Relation::mostLineages)
      return bad(place() + " has a relation by a lineage that it cannot have");
    value.relations.push_back(
        {relation.tensor, steps(relation, *value.subgraph()), relation.exact || relation.inherited, relation.lineage});
  }
  // An intermediate of an operator is no constant in the map, and may be one here: one that has no elements.
  if (!row.constant && value.isConstant())
    for (const Relation &relation : value.relations)
      value.sourceTensors = model.sets.join(value.sourceTensors, model.sets.single(relation.tensor));
  if (value.relations.empty() && value.noRelation == NoRelation::None)
    value.noRelation = NoRelation::Approximated;
  value.inexact = row.inexact;
  // In a map of before, whatever a result is related to is equal but for rounding exactly if its producer is. What has
  // none is so by itself.
  if (!tellsInexact && !value.relations.empty() && !value.relations[0].exact) {
    if (Operator *producer = value.producer())
      producer->inexact = true;
    else
      value.inexact = value.isConstant() || value.isGraphInput;
  }
  return Error::success();
}

Error MapReader::ledgerRow(const origin::MapLedgerRow &row) {
  if (row.id >= (row.isTensor ? model.sourceTensors : model.sourceOperators))
    return bad("its ledger has a row for " + Twine(row.isTensor ? "tensor " : "operator ") + Twine(row.id) +
               ", which the source does not have");
  if (row.run >= Tombstone::mostRuns)
    return bad("its ledger names run " + Twine(row.run) + ", and there are at most " + Twine(Tombstone::mostRuns));
  const auto &ledTo = row.ledTo ? *row.ledTo : origin::MapLedgerRow::Places{row.operators, row.tensors};
  bool leads = !ledTo.operators.empty() || !ledTo.tensors.empty();
  Destinations *into = leads ? model.addDestinations() : nullptr;
  Tombstone stone;
  stone.ofTensors = row.isTensor;
  stone.fate = fateFromName(row.fate);
  stone.was = fateFromName(row.was);
  stone.run = static_cast<uint16_t>(row.run);
  stone.ids = model.sets.single(row.id);
  stone.pass = model.passLists.add(0, intern(row.pass));
  stone.rewrite = row.rewrite;
  stone.into = into;
  if (!row.partFile.empty())
    stone.into = model.create(Part{intern(row.partFile), intern(row.partFingerprint)});
  for (auto [graph, index] : ledTo.operators) {
    if (graph >= model.subgraphs.size() || index >= operators[graph].size())
      return bad("its ledger leads to an operator that is not there");
    into->add(*operators[graph][index]);
  }
  for (auto [graph, index] : ledTo.tensors) {
    if (graph >= model.subgraphs.size() || index >= model.subgraphs[graph]->values.size())
      return bad("its ledger leads to a tensor that is not there");
    into->add(*model.subgraphs[graph]->values[index]);
  }
  if (!known(row.with, model.sourceOperators))
    return bad("its ledger says that something cancelled out with an operator that the source does not have");
  if (!row.with.empty())
    model.cancelledWith.emplace_back(static_cast<uint32_t>(model.tombstones.size()), model.sets.of(row.with));
  model.tombstones.push_back(stone);
  return Error::success();
}

void MapReader::sourceGraph() {
  for (const origin::SourceSubgraph &graph : map.source.subgraphs)
    if (graph.operandEnds.size() != graph.operators.size())
      return; // a map of before
  std::vector<int32_t> operands, results;
  auto existing = [&](const auto &from, std::vector<int32_t> &to) {
    to.assign(from.begin(), from.end());
    for (int32_t &tensor : to)
      if (tensor < 0 || static_cast<uint32_t>(tensor) >= model.sourceTensors)
        tensor = -1;
  };
  for (const origin::SourceSubgraph &graph : map.source.subgraphs)
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      existing(graph.operandsOf(i), operands);
      existing(graph.operators[i].tensors, results);
      model.sourceGraph.addOperator(operands, results);
    }
}

Error MapReader::unneeded(const origin::MapUnneeded &row) {
  if (row.id >= (row.isTensor ? model.sourceTensors : model.sourceOperators) || row.user >= model.sourceOperators)
    return bad("it says that something was not needed which the source does not have");
  model.unneeded.push_back({row.isTensor, unneededFromName(row.reason), row.id, row.user, row.operand});
  return Error::success();
}

/// There are as many lineages as operands and relations count on.
Error MapReader::lineages() const {
  for (auto &graph : model.subgraphs) {
    for (const Operator &op : graph->operators)
      for (unsigned k = 0; k < op.numOperands(); ++k)
        for (uint32_t i = 0; i < lineage::count(op); ++i)
          if (const Value *value = op.operand(k); lineage::ofOperand(op, i, k) >= (value ? lineage::count(*value) : 1))
            return bad("operator " + Twine(op.index) + " of subgraph " + Twine(graph->index) +
                       " uses a lineage that is not there");
    for (const Value *value : graph->values)
      for (const Relation *one = value->relations.begin(); one != value->relations.end(); ++one)
        if (one->lineage >= lineage::count(*value) ||
            (one != value->relations.begin() && one[-1].lineage > one->lineage))
          return bad("tensor " + Twine(value->index) + " of subgraph " + Twine(graph->index) +
                     " has a relation by a lineage that it does not have");
  }
  return Error::success();
}

/// Every id of the source has a carrier or a ledger row; a map that breaks this law from the start is not continued.
Error MapReader::nothingLost() {
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  model.ledger(lost);
  for (auto [isTensor, id] : lost) {
    if (!(unknownSteps || lostConstants) || !isTensor)
      return bad(Twine("source ") + (isTensor ? "tensor " : "operator ") + Twine(id) +
                 " is neither live nor in the ledger");
    model.tombstones.push_back(Tombstone{.ofTensors = true, .ids = model.sets.single(id)});
  }
  return Error::success();
}

Error MapReader::run() {
  model.sourceOperators = map.source.operatorCount();
  model.sourceTensors = map.source.tensorCount();
  if (map.chain.size() + 1 >= Tombstone::mostRuns) // there will be one more
    return bad("its chain has " + Twine(map.chain.size()) + " runs, and there are at most " +
               Twine(Tombstone::mostRuns));
  if (map.target.subgraphs.size() != model.subgraphs.size())
    return bad("it lists " + Twine(map.target.subgraphs.size()) + " subgraphs");
  for (auto [rows, graph] : llvm::zip_equal(map.target.subgraphs, model.subgraphs)) {
    if (!known(rows.source, map.source.subgraphs.size()))
      return bad("subgraph " + Twine(graph->index) + " comes from one that the source does not have");
    graph->sources.assign(rows.source.begin(), rows.source.end());
    if (rows.operators.size() != graph->operators.size() || rows.tensors.size() != graph->values.size())
      return bad("it lists other operators or tensors of subgraph " + Twine(graph->index) + " than the model has");
    auto &list = operators.emplace_back();
    list.reserve(rows.operators.size());
    for (auto [row, op] : llvm::zip_equal(rows.operators, graph->operators)) {
      list.push_back(&op);
      if (Error error = operatorRow(row, op))
        return error;
    }
    std::vector<bool> seen(graph->values.size());
    for (const origin::TensorRow &row : rows.tensors) {
      if (row.index >= seen.size() || seen[row.index])
        return bad("subgraph " + Twine(graph->index) + " has no or two rows for tensor " + Twine(row.index));
      seen[row.index] = true;
      if (Error error = tensorRow(row, *graph->values[row.index]))
        return error;
    }
  }
  for (const origin::MapLedgerRow &row : map.ledger)
    if (Error error = ledgerRow(row))
      return error;
  for (const origin::MapUnneeded &row : map.unneeded)
    if (Error error = unneeded(row))
      return error;
  for (const origin::MapAssumption &one : map.assumptions)
    model.makeExpressions().assume({one.number, one.numerator, one.denominator, intern(one.pass)});
  sourceGraph();
  if (Error error = lineages())
    return error;
  return nothingLost();
}

} // namespace

Error applyMap(const origin::OriginMap &map, bool dropConstants, Model &model, bool payloads) {
  return MapReader(map, dropConstants, model, payloads).run();
}

} // namespace origo
