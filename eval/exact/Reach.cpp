#include "eval/exact/Reach.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval::exact {

Reach::Reach(const Model &model) {
  for (const auto &graph : model.subgraphs) {
    moving.insert(graph->inputs.begin(), graph->inputs.end());
    std::vector<const Operator *> order;
    for (const Operator &op : graph->operators) {
      order.push_back(&op);
      if (depends(op))
        moving.insert(op.results().begin(), op.results().end());
    }
    llvm::DenseSet<const Value *> wanted(graph->outputs.begin(), graph->outputs.end());
    for (const Operator *op : llvm::reverse(order)) {
      if (op->effects() == 0 && llvm::none_of(op->results(), [&](const Value *one) { return wanted.count(one); }))
        continue;
      live.insert(op);
      for (const Use &use : op->operands())
        wanted.insert(use.get());
    }
  }
}

bool Reach::depends(const Operator &op) const {
  if (op.effects() != 0)
    return true;
  const bool asksShape = op.info() && op.info()->has(Trait::ShapeQuery);
  return llvm::any_of(op.operands(), [&](const Use &use) {
    const Value *value = use.get();
    return value && !(asksShape && value->isStatic()) && (value->isVariable || moves(value));
  });
}

} // namespace origo::eval::exact
