#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/rewrite/Order.h"
#include "ir/rewrite/Rewriter.h"

#include "llvm/ADT/STLExtras.h"

/// Operators that do the same become one, and constants that are equal.
namespace origo {

RewriteResult Rewriter::mergeEqual(llvm::StringRef passName, llvm::ArrayRef<Scope> only, Operator &visited) {
  forgetSpent();
  pass = passName;
  rule = "equal";
  scopes = only;
  if (visited.effects() != 0)
    return decline("an operator with effects is done as often as the model says");
  if (const char *why = refusal(&visited))
    return decline(why);
  Operator *equal = numbers.findEqual(visited);
  if (!equal)
    return decline("no other operator does the same");
  // What was made before the equal one has not been looked at since; it is the one that stays then.
  bool isFirst = comesBefore(visited, *equal);
  Operator &op = isFirst ? *equal : visited, *survivor = isFirst ? &visited : equal;
  for (auto [from, to] : llvm::zip(op.results(), survivor->results()))
    if (const char *why = !from != !to ? "one has a result that the other lacks"
                          : from       ? mergeRefusal(*from, *to)
                                       : nullptr)
      return decline(why);
  Operator *const list[] = {&op};
  region = list;
  std::optional<RewriteEvent> event = describe(list, SourceLine::current());
  ++model.rewrites;
  Destinations *into = model.addDestinations();
  bool swapped = op.numOperands() == 2 && op.operand(0) != survivor->operand(0) &&
                 op.operand(1) != survivor->operand(1) &&
                 (op.operand(0) == survivor->operand(1) || op.operand(1) == survivor->operand(0));
  llvm::SmallVector<uint32_t, 2> numbered = lineage::add(*survivor, op, swapped);
  for (auto [from, to] : llvm::zip(op.results(), survivor->results()))
    if (from) {
      takeOver(*from, *to, true, [&](uint32_t lineage) { return numbered[lineage]; });
      into->add(*to);
    }
  survivor->origins = model.sets.join(survivor->origins, op.origins);
  mutation::joined(model, survivor->origins);
  survivor->calls = model.sets.join(survivor->calls, op.calls);
  survivor->setMovedPast(model.sets.join(survivor->movedPast(), op.movedPast()));
  survivor->passes = model.passLists.add(model.passLists.join(survivor->passes, op.passes), pass);
  survivor->inexact |= op.inexact;
  survivor->generation = std::max(survivor->generation, op.generation);
  if (!survivor->origins.empty())
    survivor->synthetic = nullptr;
  else if (op.synthetic)
    survivor->synthetic = model.create(
        Synthetic{survivor->synthetic->reason, model.sets.join(survivor->synthetic->serves, op.synthetic->serves)});
  retire({{&op, into}}, 1, {}, Fate::DuplicateOf);
  region = {};
  if (event) {
    event->value = llvm::cast<Value *>(into->entries.front());
    event->tookOver = std::move(takenOver);
    onRewrite(*event);
  }
  push(*survivor); // other rules may apply to it
  return RewriteResult::applied();
}

void Rewriter::mergeEqualConstants(llvm::StringRef passName) {
  pass = passName;
  rule = "equal";
  std::vector<Value *> copy;
  for (auto &graph : model.subgraphs) {
    if (onRewrite) // who looks on may number the model
      copy = graph->values;
    for (Value *value : onRewrite ? copy : graph->values) {
      forgetSpent();
      restNowAndThen();
      if (value->erased() || !value->isConstant() || value->isInterface() || value->otherUses != 0)
        continue;
      Value *survivor = numbers.find(*value);
      if (!survivor)
        continue;
      ++model.rewrites;
      takenOver.clear();
      llvm::SmallVector<uint32_t, 2> numbered = lineage::add(*survivor, *value);
      takeOver(*value, *survivor, !value->inexact, [&](uint32_t lineage) { return numbered[lineage]; });
      survivor->sourceTensors = model.sets.join(survivor->sourceTensors, value->sourceTensors);
      survivor->sourceOperators = model.sets.join(survivor->sourceOperators, value->sourceOperators);
      mutation::derived(model, *survivor);
      if (!survivor->sourceTensors.empty() || !survivor->sourceOperators.empty())
        survivor->setSynthetic({});
      Destinations *into = model.addDestinations();
      into->add(*survivor);
      eraseValue(*value, Fate::DuplicateOf, into);
      if (onRewrite)
        onRewrite({model.rewrites, pass, rule, SourceLine::current(), graph.get(), {}, {}, survivor});
    }
  }
}

} // namespace origo
