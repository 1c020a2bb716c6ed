#include "origin/check/Context.h"

/// Law 8 on what is exact: nothing that is computed from something inexact is, and what is not exact by inheritance has
/// it from somewhere.
using namespace origo;
using namespace origo::origin;

namespace {

class ExactCheck {
public:
  explicit ExactCheck(CheckContext &context)
      : context(context), target(context.target), inexact(target.tensors.size()) {}

  void run() {
    for (const FileSubgraph &graph : target.subgraphs)
      markGiven(graph);
    for (uint32_t op = 0; op < target.operators.size(); ++op)
      compute(op);
    for (uint32_t tensor = 0; tensor < target.tensors.size(); ++tensor)
      if (const TensorRow *row = context.tensorRow[tensor])
        for (const MapRelation &relation : row->relations)
          judge(tensor, relation);
  }

private:
  CheckContext &context;
  const FileGraph &target;
  std::vector<bool> inexact; ///< by tensor
  bool seesAll = true;       ///< nothing is called, and no operator keeps a state

  /// What nobody computes; of inputs of a subgraph, all with one of them.
  void markGiven(const FileSubgraph &graph) {
    bool anyInput = false;
    auto isInput = [&](uint32_t tensor) { return target.kind[tensor] == TensorKind::Input; };
    for (uint32_t tensor = graph.firstTensor; tensor < graph.firstTensor + graph.tensorCount; ++tensor)
      if (const TensorRow *row = context.tensorRow[tensor]; row && row->inexact)
        inexact[tensor] = true, anyInput |= isInput(tensor);
    for (uint32_t tensor = graph.firstTensor; anyInput && tensor < graph.firstTensor + graph.tensorCount; ++tensor)
      inexact[tensor] = inexact[tensor] || isInput(tensor);
  }

  void compute(uint32_t op) {
    const OperatorInfo *info = target.opcode(op).info;
    seesAll = seesAll && info && !info->effects && target.callees(op).empty();
    bool any = context.operatorRow[op] && context.operatorRow[op]->inexact;
    target.forEachInput(op, [&](int32_t tensor) { any |= tensor >= 0 && inexact[tensor]; });
    target.forEachOutput(op, [&](int32_t tensor) {
      if (any && tensor >= 0)
        inexact[tensor] = true;
    });
  }

  void judge(uint32_t tensor, const MapRelation &relation) {
    const char *why =
        relation.exact && inexact[tensor]      ? "is said to be exact, and is computed from what is not"
        : relation.exact && relation.inherited ? "is said to be exact, and to have inherited that it is not"
        : relation.inherited && seesAll && !inexact[tensor]
            ? "is said to have inherited that it is not exact, and nothing that it is computed from says so"
            : nullptr;
    if (why)
      context.report.add(8, [&] {
        return context.writtenTensor(tensor) + " " + why + ", of " + context.sourceTensor(relation.tensor);
      });
  }
};

} // namespace

void origin::checkExact(CheckContext &context) { ExactCheck(context).run(); }
