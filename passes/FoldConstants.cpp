#include "eval/Evaluate.h"
#include "passes/Passes.h"

namespace origo {

/// f(constants) → its value. What would make the model much bigger than what it replaces is left alone.
RewriteResult foldConstants(Operator &op, Rewriter &rw) {
  constexpr uint64_t always = 4096, growth = 4; // float32 of int8 weights
  uint64_t before = 0;
  for (Use &use : op.operands())
    if (const Value *v = use.get(); v && v->isConstant())
      before += v->payload().size();
  const Value *result = op.result();
  std::optional<unsigned> bits = result ? bitsPerElement(result->type) : std::nullopt;
  std::optional<uint64_t> count = result ? result->elementCount() : std::nullopt;
  if (!bits || !count || *count > std::max(always, before * growth) / std::max(1u, *bits / 8))
    return decline("the value would be much bigger than the operands");
  if (result->isInterface())
    return decline("a graph output would become a constant");
  const char *why = nullptr;
  llvm::Expected<std::optional<Payload>> payload = evaluate(op, rw.store, why);
  if (!payload)
    return rw.fail(payload.takeError());
  if (!*payload)
    return decline(why);
  return rw.replaceWithConstant(std::move(**payload), /*exact=*/true);
}

} // namespace origo
