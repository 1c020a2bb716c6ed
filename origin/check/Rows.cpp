#include "origin/check/Context.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

/// Laws 1 to 3: rows with origins, ids that exist, and nothing of the source forgotten.
using namespace origo;
using namespace origo::origin;

static bool isSyntheticReason(llvm::StringRef reason) {
  return llvm::StringSwitch<bool>(reason)
      .Cases("type-bridge", "layout-bridge", "quantize-border", "invented-constant", "broadcast", "user-inserted",
             "scale-bridge", true)
      .Default(false);
}

/// Is the operator one that does no more than the reason says?
static bool isOfKind(const OperatorInfo *info, llvm::StringRef reason) {
  using enum circle::BuiltinOperator;
  if (!info)
    return false;
  auto is = [&](std::initializer_list<circle::BuiltinOperator> codes) { return llvm::is_contained(codes, info->code); };
  return llvm::StringSwitch<bool>(reason)
      .Case("type-bridge", is({CAST}))
      .Case("layout-bridge", is({TRANSPOSE, RESHAPE}))
      .Case("scale-bridge", is({MUL}))
      .Case("quantize-border", is({QUANTIZE, DEQUANTIZE, CAST}))
      .Case("broadcast", is({BROADCAST_TO}))
      .Default(false);
}

static bool isNoRelationReason(llvm::StringRef reason) {
  return llvm::StringSwitch<bool>(reason)
      .Cases("new-intermediate", "approximated", "split-sum", "state", "synthetic", true)
      .Default(false);
}

/// Do the lineages have the ids of the row, and no other ones?
static bool areUnion(llvm::ArrayRef<MapLineage> lineages, std::vector<uint32_t> MapLineage::*member,
                     llvm::ArrayRef<uint32_t> all) {
  std::vector<uint32_t> joined;
  for (const MapLineage &lineage : lineages)
    joined.insert(joined.end(), (lineage.*member).begin(), (lineage.*member).end());
  llvm::sort(joined);
  joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
  return lineages.empty() || llvm::ArrayRef(joined) == all;
}

/// How many lineages a tensor of the written file has: those of who computes it, or its own.
static size_t lineagesOf(const CheckContext &context, uint32_t tensor) {
  size_t count = 0;
  if (int32_t producer = context.target.producer[tensor]; producer >= 0)
    count = context.operatorRow[producer] ? context.operatorRow[producer]->lineages.size() : 0;
  else if (context.tensorRow[tensor])
    count = context.tensorRow[tensor]->lineages.size();
  return std::max<size_t>(count, 1);
}

/// Each lineage says of each operand which lineage of what is read there it uses.
static void checkOperandLineages(CheckContext &context, uint32_t op, const OperatorRow &row) {
  if (row.lineages.empty())
    return;
  llvm::SmallVector<size_t, 4> most;
  context.target.forEachInput(
      op, [&](int32_t tensor) { most.push_back(tensor < 0 ? 1 : lineagesOf(context, static_cast<uint32_t>(tensor))); });
  for (const MapLineage &lineage : row.lineages) {
    if (lineage.operands.size() != most.size())
      context.report.add(1, [&] {
        return context.writtenOperator(op) + " has a lineage that does not say of each operand what it uses";
      });
    for (size_t i = 0; i < std::min<size_t>(lineage.operands.size(), most.size()); ++i)
      if (lineage.operands[i] >= most[i])
        context.report.add(2, [&] {
          return context.writtenOperator(op) + " uses lineage " + std::to_string(lineage.operands[i]) +
                 " of an operand that does not have so many";
        });
  }
}

/// They stand in an order, so none is there twice.
static bool areInOrder(llvm::ArrayRef<MapLineage> lineages) {
  auto key = [](const MapLineage &one) { return std::tie(one.operators, one.tensors, one.operands); };
  return std::adjacent_find(lineages.begin(), lineages.end(), [&](const MapLineage &a, const MapLineage &b) {
           return key(a) >= key(b);
         }) == lineages.end();
}

static void checkOperatorRow(CheckContext &context, uint32_t op, const OperatorRow &row) {
  Report &report = context.report;
  auto words = [&](const std::string &what) { return [&, what] { return context.writtenOperator(op) + what; }; };
  bool synthetic = !row.syntheticReason.empty();
  if (row.origins.empty() && !synthetic)
    report.add(1, words(" has no origins and is not marked synthetic"));
  if (!row.origins.empty() && synthetic)
    report.add(1, words(" has origins and is marked synthetic at the same time"));
  if (synthetic && row.serves.empty())
    report.add(1, words(" is synthetic, but the row does not say which source operators it serves"));
  bool unknown = row.syntheticReason == "unknown" && context.inferredOnce();
  if (synthetic && !unknown && !isSyntheticReason(row.syntheticReason))
    report.add(1, words(" is synthetic for " + quoted(row.syntheticReason) + ", which is no known reason"));
  if (synthetic && isSyntheticReason(row.syntheticReason) &&
      !isOfKind(context.target.opcode(op).info, row.syntheticReason))
    report.add(1, words(" is synthetic as " + quoted(row.syntheticReason) + ", and does more than that"));
  if (!areInOrder(row.lineages))
    report.add(1, words(" lists its lineages out of order or twice"));
  if (!areUnion(row.lineages, &MapLineage::operators, row.origins))
    report.add(1, words(" has lineages whose origins are not those of the row"));
  if (!llvm::is_sorted(row.origins) || std::adjacent_find(row.origins.begin(), row.origins.end()) != row.origins.end())
    report.add(2, words(" lists its origins out of order or twice"));
  if (!llvm::is_sorted(row.movedPast) ||
      std::adjacent_find(row.movedPast.begin(), row.movedPast.end()) != row.movedPast.end())
    report.add(2, words(" lists what it moved past out of order or twice"));

  auto exist = [&](const char *where, llvm::ArrayRef<uint32_t> ids) {
    for (uint32_t id : ids)
      if (!context.knownOperator(id))
        report.add(2, words(std::string(" names source operator ") + std::to_string(id) + " in its " + where +
                            ", but the source has only " + std::to_string(context.sourceOperators)));
  };
  checkOperandLineages(context, op, row);
  exist("origins", row.origins);
  exist("serves", row.serves);
  exist("calls", row.calls);
  exist("movedPast", row.movedPast);
}

static void checkTensorRow(CheckContext &context, uint32_t tensor, const TensorRow &row) {
  Report &report = context.report;
  auto words = [&](const std::string &what) { return [&, what] { return context.writtenTensor(tensor) + what; }; };
  if (row.constant) {
    bool synthetic = !row.syntheticReason.empty();
    bool derived = !row.tensors.empty() || !row.operators.empty();
    if (!derived && !synthetic)
      report.add(1, words(" is a constant that comes from nothing and is not marked synthetic"));
    if (derived && synthetic)
      report.add(1, words(" is a constant with a source and is marked synthetic at the same time"));
    // A map that goes on from ONE's tables, which say nothing of constants.
    bool recorded =
        row.syntheticReason != "not-recorded" && !(row.syntheticReason == "unknown" && context.inferredOnce());
    if (synthetic && recorded && !isSyntheticReason(row.syntheticReason))
      report.add(1, words(" is synthetic for " + quoted(row.syntheticReason) + ", which is no known reason"));
  }
  if (!areInOrder(row.lineages))
    report.add(1, words(" lists its lineages out of order or twice"));
  if (row.constant && (!areUnion(row.lineages, &MapLineage::tensors, row.tensors) ||
                       !areUnion(row.lineages, &MapLineage::operators, row.operators)))
    report.add(1, words(" has lineages that come from something else than the row"));
  // The reason `synthetic` for missing relations may stand in either member.
  if (row.relations.empty() && row.syntheticReason.empty() && !isNoRelationReason(row.reason))
    report.add(1,
               words(row.reason.empty() ? " has no relation and gives no reason"
                                        : " has no relation for " + quoted(row.reason) + ", which is no known reason"));

  for (uint32_t id : row.tensors)
    if (!context.knownTensor(id))
      report.add(2, words(" is said to come from source tensor " + std::to_string(id) + ", but the source has only " +
                          std::to_string(context.sourceTensors)));
    else if (context.sourceKind[id] != TensorKind::Constant)
      report.add(2, words(" is said to come from " + context.sourceTensor(id) + ", which is not a constant"));
  for (uint32_t id : row.operators)
    if (!context.knownOperator(id))
      report.add(2, words(" is said to come from source operator " + std::to_string(id) + ", but the source has only " +
                          std::to_string(context.sourceOperators)));
  const FileSubgraph &graph = context.target.subgraphs[context.target.subgraphOfTensor(tensor)];
  for (const MapRelation &relation : row.relations) {
    if (!context.knownTensor(relation.tensor))
      report.add(2, words(" is related to source tensor " + std::to_string(relation.tensor) +
                          ", but the source has only " + std::to_string(context.sourceTensors)));
    if (relation.lineage >= lineagesOf(context, tensor))
      report.add(2, words(" is related by lineage " + std::to_string(relation.lineage) + ", which it does not have"));
    for (const MapStep &step : relation.steps)
      for (const Term &term : {step.scale, step.shift}) {
        if (step.kind != MapStep::Affine || term.kind < Term::Constant)
          continue;
        if (term.kind == Term::Source) {
          if (!context.knownTensor(term.constant))
            report.add(2, words(" has a relation by source tensor " + std::to_string(term.constant) +
                                ", but the source has only " + std::to_string(context.sourceTensors)));
          else if (context.sourceKind[term.constant] != TensorKind::Constant &&
                   context.sourceProducer[term.constant] < 0)
            report.add(
                2, words(" has a relation by " + context.sourceTensor(term.constant) + ", which is not a constant"));
          continue;
        }
        if (term.constant >= graph.tensorCount)
          report.add(2, words(" has a relation by constant " + std::to_string(term.constant) +
                              ", but its subgraph has only " + std::to_string(graph.tensorCount) + " tensors"));
        else if (context.target.kind[graph.firstTensor + term.constant] != TensorKind::Constant)
          report.add(2, words(" has a relation by " + context.writtenTensor(graph.firstTensor + term.constant) +
                              ", which is not a constant"));
      }
  }
}

static void checkLedgerIds(CheckContext &context) {
  Report &report = context.report;
  const FileGraph &target = context.target;
  std::vector<bool> seenOperator(context.sourceOperators), seenTensor(context.sourceTensors);
  for (const MapLedgerRow &row : context.map.ledger) {
    std::vector<bool> &seen = row.isTensor ? seenTensor : seenOperator;
    if (row.id >= seen.size()) {
      report.add(2, [&] {
        return std::string("the ledger has a row for source ") + (row.isTensor ? "tensor " : "operator ") +
               std::to_string(row.id) + ", but the source has only " + std::to_string(seen.size());
      });
      continue;
    }
    if (seen[row.id])
      report.add(3, [&] { return context.ledgerSubject(row) + " is in the ledger twice"; });
    seen[row.id] = true;
    auto exists = [&](const char *what, const std::pair<uint32_t, uint32_t> &place, uint32_t FileSubgraph::*count) {
      auto [graph, index] = place;
      if (graph >= target.subgraphs.size() || index >= target.subgraphs[graph].*count)
        report.add(2, [&, graph = graph, index = index] {
          return "the ledger says that " + context.ledgerSubject(row) + " went into " + what + " " +
                 std::to_string(index) + " of subgraph " + std::to_string(graph) + ", which the file does not have";
        });
    };
    auto allExist = [&](const auto &operators, const auto &tensors) {
      for (const auto &place : operators)
        exists("operator", place, &FileSubgraph::operatorCount);
      for (const auto &place : tensors)
        exists("tensor", place, &FileSubgraph::tensorCount);
    };
    allExist(row.operators, row.tensors);
    if (row.ledTo)
      allExist(row.ledTo->operators, row.ledTo->tensors);
    if (row.run > context.map.chain.size())
      report.add(2, [&] {
        return "the ledger says that " + context.ledgerSubject(row) + " went in run " + std::to_string(row.run) +
               ", but the chain has only " + std::to_string(context.map.chain.size() + 1);
      });
  }
}

void origin::checkRows(CheckContext &context) {
  const FileGraph &target = context.target;
  Report &report = context.report;
  for (uint32_t op = 0; op < target.operators.size(); ++op)
    if (const OperatorRow *row = context.operatorRow[op])
      checkOperatorRow(context, op, *row);
    else
      report.add(1, [&] { return context.writtenOperator(op) + " has no row"; });
  for (uint32_t tensor = 0; tensor < target.tensors.size(); ++tensor)
    if (const TensorRow *row = context.tensorRow[tensor])
      checkTensorRow(context, tensor, *row);
    else
      report.add(1, [&] { return context.writtenTensor(tensor) + " has no row"; });

  const auto &graphs = context.map.target.subgraphs;
  for (size_t g = 0; g < graphs.size(); ++g) {
    if (graphs[g].source.empty())
      report.add(1,
                 [&] { return "subgraph " + std::to_string(g) + " does not say which source subgraph it came from"; });
    for (uint32_t from : graphs[g].source)
      if (from >= context.map.source.subgraphs.size())
        report.add(2, [&] {
          return "subgraph " + std::to_string(g) + " is said to come from source subgraph " + std::to_string(from) +
                 ", but the source has only " + std::to_string(context.map.source.subgraphs.size());
        });
  }
  checkLedgerIds(context);

  for (uint32_t id = 0; id < context.sourceOperators; ++id)
    if (!context.liveOperator[id] && context.operatorLedger[id] < 0)
      report.add(3, [&] { return context.sourceOperator(id) + " is in no origins and not in the ledger"; });
  for (uint32_t id = 0; id < context.sourceTensors; ++id)
    if (!context.liveTensor[id] && context.tensorLedger[id] < 0)
      report.add(
          3, [&] { return context.sourceTensor(id) + " is named by no relation or constant and not in the ledger"; });
}
