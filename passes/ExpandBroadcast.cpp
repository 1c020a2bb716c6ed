#include "eval/Movement.h"
#include "passes/Match.h"
#include "passes/Movement.h"
#include "passes/Passes.h"

namespace origo {

/// f(x, c) → f(x, c repeated to the shape of the result), for back ends that do not broadcast.
RewriteResult expandBroadcastConstant(Operator &op, Rewriter &rw) {
  constexpr uint64_t limit = 64 << 20;
  const Value &result = *op.result();
  if (!result.isStatic() || result.elementCount() == 0)
    return decline("the shape of the result is not known before run time, or has no elements");
  if (op.info()->has(Trait::Comparison) && result.type != TensorType::BOOL)
    return decline("a comparison whose result is not bool");
  Draft draft = rw.clone(op).bitExact();
  bool expands = false;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    Value *constant;
    if (!match(op.operand(i), rw, m_Constant(constant)) || constant->shape == result.shape)
      continue;
    std::optional<unsigned> bits = bitsPerElement(constant->type);
    if (!bits || *bits % 8 || !isDense(constant, *bits / 8) || !perTensor(*constant))
      return decline("the constant is not dense, or quantised by channel");
    std::optional<Walk> walk = broadcasting(constant->shape, result.shape);
    if (!walk)
      return decline("the constant does not broadcast to the stated shape of the result");
    if (*result.elementCount() > limit / (*bits / 8))
      return decline("the constant would be very big");
    llvm::Expected<Payload> payload = walkElements(constant->payload(), *bits / 8, result.shape, *walk, rw.store);
    if (!payload)
      return rw.fail(payload.takeError());
    llvm::SmallVector<Step, 2> steps;
    if (constant->rank() != result.rank())
      steps.push_back({Step::Reshape});
    if (*constant->elementCount() != *result.elementCount()) {
      Step &placed = steps.emplace_back(Step{Step::Placed});
      placed.first.assign(result.rank(), 0);
      placed.second.assign(result.rank() - constant->rank(), 1);
      placed.second.append(constant->shape.begin(), constant->shape.end());
    }
    draft.operand(i, rw.movedConstant(std::move(*payload), result.shape, *constant, steps));
    expands = true;
  }
  if (!expands)
    return decline("no constant is broadcast");
  return rw.replace(std::move(draft));
}

} // namespace origo
