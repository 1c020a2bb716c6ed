#include "ir/Taint.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

Taint::Taint(const Model &model)
    : model(model), inexactInside(model.subgraphs.size()), inputsTainted(model.subgraphs.size()) {
  for (auto &graph : model.subgraphs)
    values.emplace_back(graph->values.size());
  if (markInexactSubgraphs())
    while (pass())
      ;
}

/// False if there is nothing inexact at all. Marks constants and inputs.
bool Taint::markInexactSubgraphs() {
  std::vector<llvm::SmallVector<unsigned, 2>> callers(model.subgraphs.size());
  std::vector<unsigned> work;
  bool any = false;
  for (auto &graph : model.subgraphs) {
    bool inside = false;
    for (const Value *value : graph->values)
      if (value->inexact && value->isGraphInput)
        any = inputsTainted[graph->index] = true;
      else if (value->inexact)
        inside = values[graph->index][value->index] = true;
    for (const Operator &op : graph->operators) {
      inside |= op.inexact;
      for (Subgraph *callee : op.callees())
        callers[callee->index].push_back(graph->index);
    }
    if (inside) {
      inexactInside[graph->index] = true;
      work.push_back(graph->index);
    }
  }
  any |= !work.empty();
  while (!work.empty()) {
    unsigned callee = work.back();
    work.pop_back();
    for (unsigned caller : callers[callee])
      if (!inexactInside[caller]) {
        inexactInside[caller] = true;
        work.push_back(caller);
      }
  }
  return any;
}

/// All operators once, and again those subgraphs whose inputs turned out to be tainted. True if taint has reached
/// the state, which operators before it may read in the next run.
bool Taint::pass() {
  bool stateBefore = stateTainted;
  std::vector<unsigned> work;
  for (unsigned i = 0; i < model.subgraphs.size(); ++i)
    work.push_back(i);
  while (!work.empty()) {
    const Subgraph &graph = *model.subgraphs[work.back()];
    work.pop_back();
    if (inputsTainted[graph.index])
      for (const Value *input : graph.inputs)
        values[graph.index][input->index] = true;
    for (const Operator &op : graph.operators)
      visit(op, work);
  }
  return stateTainted != stateBefore;
}

void Taint::visit(const Operator &op, std::vector<unsigned> &work) {
  bool fromOperand = llvm::any_of(op.operands(), [&](const Use &use) { return use.get() && (*this)(*use.get()); });
  bool tainted = op.inexact || fromOperand;
  for (Subgraph *callee : op.callees())
    tainted |= inexactInside[callee->index];
  // A loop's results are its inputs in the next round.
  if (fromOperand || (tainted && op.code == BuiltinOperator::WHILE))
    for (Subgraph *callee : op.callees())
      if (!inputsTainted[callee->index]) {
        inputsTainted[callee->index] = true;
        work.push_back(callee->index);
      }
  uint8_t effects = op.effects();
  tainted |= stateTainted && (effects & uint8_t(Effect::ReadsState));
  if (!tainted)
    return;
  stateTainted |= (effects & (uint8_t(Effect::WritesState) | uint8_t(Effect::ReadsState))) != 0;
  for (const Use &use : op.operands())
    if (const Value *variable = use.get(); variable && variable->isVariable && (effects & uint8_t(Effect::WritesState)))
      values[variable->subgraph()->index][variable->index] = true;
  for (const Value *result : op.results())
    if (result)
      values[result->subgraph()->index][result->index] = true;
}

} // namespace origo
