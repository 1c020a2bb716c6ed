#include "eval/exact/Recipes.h"

#include "eval/exact/Kernels.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval::exact {

void Recipes::add(const Operator &op, llvm::ArrayRef<Payload> results) {
  for (unsigned i = 0; i < results.size() && i < op.results().size(); ++i) {
    const Value *result = op.result(i);
    if (!result || !isReal(result->type) || results[i].empty())
      continue;
    // What has another shape only has the same bytes.
    if (llvm::any_of(op.operands(), [&](const Use &use) {
          return use.get() && use.get()->isConstant() && keyOf(use.get()->payload()) == keyOf(results[i]);
        }))
      continue;
    all.insert_or_assign(keyOf(results[i]), Recipe{std::make_unique<DetachedOperator>(op), i, results[i]});
  }
}

const Recipes::Recipe *Recipes::find(const Payload &payload) const {
  auto found = payload.empty() ? all.end() : all.find(keyOf(payload));
  return found == all.end() ? nullptr : &found->second;
}

} // namespace origo::eval::exact
