#include "eval/Evaluate.h"
#include "eval/RealNumbers.h"
#include "passes/Passes.h"
#include "schema/TensorTypes.h"

#include "llvm/Support/MathExtras.h"

namespace origo {

/// f(constants) → its value. What would make the model much bigger than what it replaces is left alone.
RewriteResult foldConstants(Operator &op, Rewriter &rw) {
  // float32 of int8 weights are four times as big; of sparse ones there are few.
  uint64_t always = 4096, growth = op.code == BuiltinOperator::DENSIFY ? 16 : 4;
  uint64_t before = 0, after = 0;
  for (Use &use : op.operands())
    if (const Value *v = use.get(); v && v->isConstant())
      before += v->payload().size();
  bool isReal = false;
  for (const Value *result : op.results()) {
    std::optional<uint64_t> count = result ? result->elementCount() : std::nullopt;
    std::optional<uint64_t> size = count ? payloadBytes(result->type, *count) : std::nullopt;
    after = llvm::SaturatingAdd(after, size.value_or(UINT64_MAX));
    isReal |= result && eval::isFloat(result->type);
    if (result && result->isInterface())
      return decline("a graph output would become a constant");
  }
  if (after > std::max(always, llvm::SaturatingMultiply(before, growth)))
    return decline("the value would be much bigger than the operands");
  const char *why = nullptr;
  auto payloads = evaluate(op, rw.store, why);
  if (!payloads)
    return rw.fail(payloads.takeError());
  if (payloads->empty())
    return decline(why);
  // Other kernels than the reference's round the last bits of sums and of transcendental functions elsewhere.
  bool exact = !isReal || op.info()->has(Trait::DataMovement) || op.code == BuiltinOperator::DEQUANTIZE ||
               op.code == BuiltinOperator::CAST;
  return rw.replaceWithConstants(*payloads, exact);
}

} // namespace origo
