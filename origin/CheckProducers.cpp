#include "origin/CheckContext.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

/// Law 6, truth from structure: what produced the source tensor that an output equals is among the output's origins.
using namespace origo;
using namespace origo::origin;

namespace {

class ProducerCheck {
public:
  explicit ProducerCheck(CheckContext &context)
      : context(context), target(context.target), visited(target.operators.size()),
        budget(64 * (uint64_t{target.operators.size()} + target.tensors.size()) + (1 << 20)) {
    for (const LedgerRow &row : context.map.ledger)
      if (!row.isTensor &&
          llvm::is_contained({"identity", "duplicate-of", "layout-cancelled", "quantization-cancelled"},
                             llvm::StringRef(row.fate)))
        for (auto [graph, index] : row.tensors)
          handedOn.emplace_back(row.id, graph, index);
    llvm::sort(handedOn);
  }

  void run() {
    for (uint32_t op = 0; op < target.operators.size(); ++op)
      if (const OperatorRow *row = context.operatorRow[op]; row && row->syntheticReason.empty())
        target.forEachOutput(op, [&](int32_t tensor) {
          if (tensor >= 0)
            checkOutput(op, *row, tensor);
        });
    for (uint32_t tensor = 0; tensor < target.tensors.size(); ++tensor)
      if (const TensorRow *row = context.tensorRow[tensor];
          row && row->constant && row->syntheticReason.empty() && target.producer[tensor] < 0)
        checkConstant(tensor, *row);
  }

private:
  CheckContext &context;
  const FileGraph &target;
  std::vector<uint32_t> visited; ///< by operator: the last search that came by
  uint32_t search = 0;
  /// Source operator and tensor of the written file: the ledger says that the tensor stands for the operator's result.
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> handedOn;
  uint64_t budget; ///< of searches through moved data; a map that needs more is not a true one of any size

  /// The source operator that computes the tensor of the relation, unless the ledger explains where it went.
  std::optional<uint32_t> expectedOrigin(uint32_t tensor, const Relation &relation) const {
    if (!context.knownTensor(relation.tensor) || context.sourceProducer[relation.tensor] < 0)
      return std::nullopt;
    auto origin = static_cast<uint32_t>(context.sourceProducer[relation.tensor]);
    uint32_t graph = target.subgraphOfTensor(tensor);
    uint32_t index = tensor - target.subgraphs[graph].firstTensor;
    if (std::binary_search(handedOn.begin(), handedOn.end(), std::tuple(origin, graph, index)))
      return std::nullopt;
    return origin;
  }

  void checkOutput(uint32_t op, const OperatorRow &row, uint32_t tensor) {
    const TensorRow *output = context.tensorRow[tensor];
    if (!output)
      return;
    for (const Relation &relation : output->relations) {
      auto origin = expectedOrigin(tensor, relation);
      if (!origin || holds(row.origins, *origin) || (moves(op) && computedBefore(op, *origin)))
        continue;
      context.report.add(6, [&] {
        return context.writtenOperator(op) + " computes " + context.sourceTensor(relation.tensor) + ", but " +
               context.sourceOperator(*origin) + ", which produced that, is not among its origins";
      });
    }
  }

  void checkConstant(uint32_t tensor, const TensorRow &row) {
    std::vector<uint32_t> operators(row.operators);
    llvm::sort(operators);
    for (const Relation &relation : row.relations) {
      auto origin = expectedOrigin(tensor, relation);
      if (!origin || holds(operators, *origin))
        continue;
      context.report.add(6, [&] {
        return "constant " + context.writtenTensor(tensor) + " equals " + context.sourceTensor(relation.tensor) +
               ", but " + context.sourceOperator(*origin) + ", which produced that, is not among its operators";
      });
    }
  }

  /// Does it only move, cast or (de)quantise data?
  bool moves(uint32_t op) const {
    const FileGraph::Opcode &row = target.opcode(op);
    if (!row.info)
      return false;
    using enum circle::BuiltinOperator;
    return row.info->has(Trait::DataMovement) || row.info->code == CAST || row.info->code == QUANTIZE ||
           row.info->code == DEQUANTIZE;
  }

  /// Is `origin` done by one of the operators that the moved data comes from?
  bool computedBefore(uint32_t op, uint32_t origin) {
    ++search;
    llvm::SmallVector<uint32_t> pending{op};
    bool found = false;
    while (!pending.empty() && !found) {
      uint32_t at = pending.pop_back_val();
      target.forEachInput(at, [&](int32_t tensor) {
        if (tensor < 0 || found || budget == 0)
          return;
        --budget;
        if (int32_t from = target.producer[tensor]; from >= 0) {
          if (visited[from] == search)
            return;
          visited[from] = search;
          const OperatorRow *row = context.operatorRow[from];
          found = row && holds(row->origins, origin);
          if (!found && moves(from))
            pending.push_back(from);
        } else if (const TensorRow *row = context.tensorRow[tensor]; row && row->constant) {
          found = llvm::is_contained(row->operators, origin);
        }
      });
    }
    return found;
  }
};

} // namespace

void origin::checkProducers(CheckContext &context) { ProducerCheck(context).run(); }
