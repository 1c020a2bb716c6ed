#include "export/OriginMapOf.h"

#include "export/Export.h"
#include "ir/Mutation.h"
#include "ir/Taint.h"
#include "origin/Fingerprint.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

namespace origo {

namespace {

static_assert(int(Step::Permute) == int(origin::MapStep::Permute) &&
              int(Step::Quantize) == int(origin::MapStep::Quantize) &&
              int(Step::Affine) == int(origin::MapStep::Affine));

class MapBuilder {
public:
  MapBuilder(Model &model, const origin::Lineage &lineage, const Tables &tables)
      : model(model), lineage(lineage), tables(tables), taint(model) {}

  llvm::Expected<origin::OriginMap> build() {
    if (!lineage.source)
      return makeError("the model has no source that an origin map could lead to");
    origin::OriginMap map;
    map.generator = "origo " ORIGO_VERSION;
    map.source = *lineage.source;
    map.chain = lineage.chain;
    map.retrained = lineage.retrained;
    origin::Listing listing = listingOf(model, tables);
    map.target.format = listing.format;
    map.target.fingerprint = listing.fingerprint;
    map.target.content = listing.content;
    for (auto [graph, source] : llvm::zip_equal(model.subgraphs, listing.subgraphs))
      map.target.subgraphs.push_back(subgraph(*graph, source));
    writeLedger(map);
    mutation::exported(map);
    return map;
  }

private:
  Model &model;
  const origin::Lineage &lineage;
  const Tables &tables;
  Taint taint;
  std::vector<std::pair<uint32_t, const Value *>> dropped; ///< relations that the file cannot say

  std::vector<uint32_t> members(IdSet set) const {
    std::vector<uint32_t> ids;
    model.sets.forEach(set, [&](uint32_t id) { ids.push_back(id); });
    return ids;
  }

  origin::TargetSubgraph subgraph(const Subgraph &graph, origin::SourceSubgraph &listing) {
    origin::TargetSubgraph target;
    target.source.assign(graph.sources.begin(), graph.sources.end());
    target.operators.reserve(listing.operators.size());
    for (auto [op, row] : llvm::zip_equal(graph.operators, listing.operators))
      target.operators.push_back(operatorRow(op, row, listing));
    std::vector<origin::SourceOperator>().swap(listing.operators); // a million operators: as much memory as the rows
    target.tensors.reserve(listing.tensors.size());
    for (auto [value, row] : llvm::zip_equal(graph.values, listing.tensors))
      target.tensors.push_back(tensorRow(*value, row));
    target.name = std::move(listing.name);
    return target;
  }

  origin::OperatorRow operatorRow(const Operator &op, origin::SourceOperator &listed,
                                  const origin::SourceSubgraph &listing) const {
    origin::OperatorRow row;
    row.op = std::move(listed.op);
    row.customCode = std::move(listed.customCode);
    for (int32_t id : listed.tensors)
      row.outputs.push_back(id < 0 ? std::string() : listing.tensors[id - listing.firstTensor].name);
    row.origins = members(op.origins);
    for (llvm::StringRef pass : model.passLists.get(op.passes))
      row.passes.push_back(pass);
    if (op.synthetic && row.origins.empty()) {
      row.syntheticReason = op.synthetic->reason;
      row.serves = members(op.synthetic->serves);
    }
    row.wide = op.wide.get();
    row.calls = members(op.calls);
    return row;
  }

  origin::TensorRow tensorRow(const Value &value, origin::SourceTensor &listed) {
    origin::TensorRow row;
    row.index = value.index;
    row.name = std::move(listed.name);
    row.constant = listed.kind == origin::TensorKind::Constant;
    if (row.constant) {
      row.tensors = members(value.sourceTensors);
      row.operators = members(value.sourceOperators);
      row.syntheticReason = value.synthetic;
    }
    size_t droppedBefore = dropped.size();
    for (const Relation &relation : value.relations) {
      std::optional<std::vector<origin::MapStep>> steps = stepsOf(relation, value);
      if (!steps) {
        dropped.push_back({relation.tensor, &value});
        continue;
      }
      row.relations.push_back({relation.tensor, std::move(*steps), relation.exact && !taint(value)});
    }
    if (row.relations.empty())
      row.reason = !value.noRelation.empty()        ? value.noRelation
                   : dropped.size() > droppedBefore ? "approximated"
                   : !value.synthetic.empty()       ? "synthetic"
                                                    : "new-intermediate";
    return row;
  }

  /// Nothing where a step uses a constant that is not in the file any more.
  std::optional<std::vector<origin::MapStep>> stepsOf(const Relation &relation, const Value &value) const {
    std::vector<origin::MapStep> steps;
    for (const Step &step : model.steps.get(relation.steps)) {
      origin::MapStep out;
      out.kind = static_cast<decltype(out.kind)>(step.kind);
      out.axis = step.axis;
      out.first.assign(step.first.begin(), step.first.end());
      out.second.assign(step.second.begin(), step.second.end());
      if (!termOf(step.scale, value, out.scale) || !termOf(step.shift, value, out.shift))
        return std::nullopt;
      steps.push_back(std::move(out));
    }
    return steps;
  }

  static bool termOf(const Step::Term &term, const Value &value, origin::Term &out) {
    switch (term.kind) {
    case Step::Term::None:
      return true;
    case Step::Term::Number:
      out.kind = origin::Term::Number;
      out.number = term.number;
      return true;
    case Step::Term::Constant:
      out.kind = origin::Term::Constant;
      out.constant = term.constant->index;
      return !term.constant->erased() && term.constant->subgraph() == value.subgraph() && term.constant->isConstant();
    }
    llvm_unreachable("all kinds of terms are above");
  }

  /// A source tensor whose last relation is one of `dropped` is neither live nor in the model's ledger.
  void addDroppedTensors(origin::OriginMap &map) const {
    if (dropped.empty())
      return;
    std::vector<bool> known(model.sourceTensors);
    for (const origin::TargetSubgraph &graph : map.target.subgraphs)
      for (const origin::TensorRow &row : graph.tensors) {
        for (const origin::MapRelation &relation : row.relations)
          known[relation.tensor] = true;
        for (uint32_t id : row.tensors)
          known[id] = true;
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

  void writeLedger(origin::OriginMap &map) {
    llvm::SmallVector<std::pair<bool, uint32_t>> lost;
    model.ledger(lost, [&](const LedgerRow &row) {
      origin::MapLedgerRow out;
      out.isTensor = row.isTensor;
      out.id = row.id;
      out.fate = fateName(row.fate);
      if (row.was != Fate::Unknown)
        out.was = fateName(row.was);
      out.pass = row.pass;
      out.run = row.run;
      out.rewrite = row.rewrite;
      if (row.part) {
        out.partFile = row.part->file;
        out.partFingerprint = row.part->fingerprint;
      }
      for (const Operator *op : row.operators)
        out.operators.push_back({op->subgraph()->index, op->index});
      for (const Value *value : row.values)
        out.tensors.push_back({value->subgraph()->index, value->index});
      map.ledger.push_back(std::move(out));
    });
    addDroppedTensors(map);
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
};

} // namespace

origin::Listing listingOf(const Model &model, const Tables &tables) {
  origin::Listing listing;
  withView(model, tables, [&](const origin::ModelView &view) {
    listing = origin::describe(view);
    listing.fingerprint = origin::fingerprint(view);
    listing.content = origin::content(view);
  });
  listing.format = tables.tflite ? "tflite" : "circle";
  return listing;
}

llvm::Expected<origin::OriginMap> originMapOf(Model &model, const origin::Lineage &lineage, const Tables &tables) {
  return MapBuilder(model, lineage, tables).build();
}

llvm::Expected<origin::OriginMap> originMapOf(Model &model, const origin::Lineage &lineage, Format format) {
  model.number();
  if (llvm::Error error = checkExpressible(model, format))
    return error;
  llvm::Expected<std::unique_ptr<Tables>> tables = buildTables(model, {.format = format});
  if (!tables)
    return tables.takeError();
  return originMapOf(model, lineage, **tables);
}

llvm::Expected<std::shared_ptr<origin::Listing>> listingOf(Model &model, Format format) {
  model.number();
  if (llvm::Error error = checkExpressible(model, format))
    return error;
  llvm::Expected<std::unique_ptr<Tables>> tables = buildTables(model, {.format = format});
  if (!tables)
    return tables.takeError();
  return std::make_shared<origin::Listing>(listingOf(model, **tables));
}

} // namespace origo
