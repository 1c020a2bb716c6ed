#include "origin/check/Context.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

/// Law 8 on the ledger: what it says is gone is gone, and what it says became of it can be so.
using namespace origo;
using namespace origo::origin;

static bool isFate(llvm::StringRef fate, bool ofTensor) {
  if (llvm::StringSwitch<bool>(fate).Cases("fused-away", "decomposed", "unused-in-source", true).Default(false))
    return ofTensor;
  return llvm::StringSwitch<bool>(fate)
      .Cases("dead", "identity", "duplicate-of", "folded-to-constant", "layout-cancelled", "quantization-cancelled",
             "cancelled", "inlined", "user-removed", "elsewhere", true)
      .Default(false);
}

static void checkRow(CheckContext &context, const MapLedgerRow &row) {
  Report &report = context.report;
  auto words = [&](const std::string &what) { return [&, what] { return context.ledgerSubject(row) + what; }; };
  bool unknown = row.fate == "unknown" && context.inferredOnce();
  if (!unknown && !isFate(row.fate, row.isTensor)) {
    report.add(8, words(" has the fate " + quoted(row.fate) + ", which is none of a" +
                        (row.isTensor ? " tensor" : "n operator")));
    return;
  }
  bool live = row.isTensor ? context.liveTensor[row.id] : context.liveOperator[row.id];
  if (live)
    report.add(8, words(" is in the ledger as " + row.fate + ", but a row of the written file carries it"));

  bool into = !row.operators.empty() || !row.tensors.empty();
  bool gone = row.fate == "dead" || row.fate == "unused-in-source";
  bool removed = row.fate == "user-removed" || row.fate == "elsewhere";
  if ((gone || removed || unknown) && into)
    report.add(8, words(" is " + row.fate + ", yet the ledger says what it went into"));
  if (!gone && !removed && !unknown && !into)
    report.add(8, words(" is " + row.fate + ", yet the ledger does not say into what: then it is dead"));
  if (!row.was.empty() && (row.fate != "dead" || !isFate(row.was, row.isTensor)))
    report.add(8, words(" has a first fate " + quoted(row.was) + " that does not go with " + row.fate));
  if (row.fate == "elsewhere" && row.partFile.empty())
    report.add(8, words(" is in another part, but the ledger does not say in which"));
}

/// Marks the source tensors that something uses: an operand, a graph input or output, a signature, an intermediate, or
/// the quantisation of another tensor.
static std::vector<bool> usedTensors(const FileGraph &file) {
  std::vector<bool> used(file.tensors.size());
  auto mark = [&](int32_t tensor) {
    if (tensor >= 0)
      used[tensor] = true;
  };
  for (uint32_t op = 0; op < file.operators.size(); ++op) {
    file.forEachInput(op, mark);
    file.forEachIntermediate(op, mark);
  }
  for (const FileSubgraph &graph : file.subgraphs)
    for (auto *list : {graph.table->inputs(), graph.table->outputs()})
      if (list)
        for (int32_t index : *list)
          mark(file.tensorId(graph, index));
  if (auto *signatures = file.model().signature_defs())
    for (const circle::SignatureDef *signature : *signatures)
      if (signature->subgraph_index() < file.subgraphs.size())
        for (auto *list : {signature->inputs(), signature->outputs()})
          if (list)
            for (const circle::TensorMap *entry : *list)
              mark(file.tensorId(file.subgraphs[signature->subgraph_index()], entry->tensor_index()));
  for (uint32_t tensor = 0; tensor < file.tensors.size(); ++tensor) {
    const circle::QuantizationParameters *quantization = file.tensors[tensor]->quantization();
    if (!quantization || !quantization->details())
      continue;
    // Blockwise is 3 in circle and 2 in tflite, where 3 is MultiAxis; all begin with the two tensor indices.
    auto details = static_cast<unsigned>(quantization->details_type());
    if (details != 3 && !(file.tflite() && details == 2))
      continue;
    auto *table = static_cast<const circle::BlockwiseQuantization *>(quantization->details());
    const FileSubgraph &graph = file.subgraphs[file.subgraphOfTensor(tensor)];
    mark(file.tensorId(graph, table->scales()));
    mark(file.tensorId(graph, table->zero_points()));
  }
  return used;
}

/// Outputs of a model keep their place, so that those of the first subgraph cannot be dead while it is written.
static void checkOutputs(CheckContext &context) {
  const FileGraph &source = *context.source;
  if (source.subgraphs.empty() || context.map.target.subgraphs.empty() ||
      !llvm::is_contained(context.map.target.subgraphs[0].source, 0u))
    return;
  if (auto *outputs = source.subgraphs[0].table->outputs())
    for (int32_t index : *outputs) {
      int32_t tensor = source.tensorId(source.subgraphs[0], index);
      if (tensor < 0 || context.tensorLedger[tensor] < 0)
        continue;
      const MapLedgerRow &row = context.map.ledger[context.tensorLedger[tensor]];
      if (row.fate == "dead")
        context.report.add(
            8, [&] { return context.ledgerSubject(row) + " is an output of the model and cannot be dead"; });
    }
}

/// What a tensor of the source went into does the work of who made it or of who uses it, or is where that went.
static void checkPlaces(CheckContext &context) {
  const FileGraph &source = *context.source;
  std::vector<llvm::SmallVector<uint32_t, 2>> near(source.tensors.size());
  for (uint32_t op = 0; op < source.operators.size(); ++op) {
    auto add = [&](int32_t tensor) {
      if (tensor >= 0)
        near[tensor].push_back(op);
    };
    source.forEachInput(op, add);
    source.forEachOutput(op, add);
    source.forEachIntermediate(op, add);
  }
  for (const MapLedgerRow &row : context.map.ledger)
    for (auto [graph, index] : row.isTensor &&context.knownTensor(row.id)
                                   ? llvm::ArrayRef(row.operators)
                                   : llvm::ArrayRef<std::pair<uint32_t, uint32_t>>()) {
      const OperatorRow *into = context.map.target.findOperator(graph, index);
      std::pair place(graph, index);
      if (into && llvm::none_of(near[row.id], [&](uint32_t op) {
            const MapLedgerRow *gone = context.ledgerOfOperator(op);
            return holds(into->origins, op) || llvm::is_contained(into->serves, op) ||
                   llvm::is_contained(into->calls, op) || (gone && llvm::is_contained(gone->operators, place));
          }))
        context.report.add(8, [&] {
          return context.ledgerSubject(row) + " is said to have gone into operator " + std::to_string(place.second) +
                 " of subgraph " + std::to_string(place.first) +
                 ", which does the work of nothing that made or used it";
        });
    }
}

/// What cancelled out did so together with what says the same of it.
static void checkCancelled(CheckContext &context, const MapLedgerRow &row) {
  if (row.with.empty())
    return;
  auto add = [&](const std::string &what) { context.report.add(8, [&] { return context.ledgerSubject(row) + what; }); };
  auto cancels = [](const MapLedgerRow &row) {
    return row.fate == "cancelled" || llvm::StringRef(row.fate).ends_with("-cancelled");
  };
  if (row.isTensor || (!cancels(row) && row.fate != "dead"))
    return add(" is " + row.fate + ", and cannot have cancelled out with another");
  for (uint32_t id : row.with) {
    if (!context.knownOperator(id) || id == row.id)
      return add(" cancelled out with source operator " + std::to_string(id) + ", which cannot be");
    const MapLedgerRow *other = context.ledgerOfOperator(id);
    if (other && cancels(*other) && other->run == row.run && other->rewrite == row.rewrite &&
        !llvm::is_contained(other->with, row.id))
      add(" cancelled out with " + context.sourceOperator(id) + ", which does not say so");
  }
}

void origin::checkLedger(CheckContext &context) {
  const OriginMap &map = context.map;
  for (const MapLedgerRow &row : map.ledger)
    if (row.isTensor ? context.knownTensor(row.id) : context.knownOperator(row.id))
      checkCancelled(context, row);
  for (const MapLedgerRow &row : map.ledger)
    if (row.isTensor ? context.knownTensor(row.id) : context.knownOperator(row.id))
      checkRow(context, row);

  for (uint32_t tensor = 0; tensor < context.target.tensors.size(); ++tensor)
    if (const TensorRow *row = context.tensorRow[tensor])
      for (const MapRelation &relation : row->relations) {
        if (!context.knownTensor(relation.tensor) || context.sourceProducer[relation.tensor] < 0)
          continue;
        const MapLedgerRow *origin = context.ledgerOfOperator(context.sourceProducer[relation.tensor]);
        if (origin && (origin->fate == "dead" || origin->fate == "user-removed"))
          context.report.add(8, [&] {
            return context.ledgerSubject(*origin) + " is in the ledger as " + origin->fate + ", but " +
                   context.writtenTensor(tensor) + " still equals its result";
          });
      }

  // An operator that was said to hold no subgraph cannot have been inlined.
  uint32_t id = 0;
  for (const SourceSubgraph &graph : map.source.subgraphs)
    for (const SourceOperator &op : graph.operators) {
      const MapLedgerRow *row = context.ledgerOfOperator(id++);
      const OperatorInfo *info = operatorInfo(llvm::StringRef(op.op));
      if (row && row->fate == "inlined" && info && !info->has(Trait::HoldsSubgraphs))
        context.report.add(8, [&] { return context.ledgerSubject(*row) + " calls no subgraph and cannot be inlined"; });
    }

  if (!context.source)
    return;
  checkPlaces(context);
  checkOutputs(context);
  std::vector<bool> used = usedTensors(*context.source);
  for (const MapLedgerRow &row : map.ledger)
    if (row.isTensor && context.knownTensor(row.id) && row.fate == "unused-in-source" && used[row.id])
      context.report.add(
          8, [&] { return context.ledgerSubject(row) + " is used in the source, whatever the ledger says"; });
}
