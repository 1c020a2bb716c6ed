#include "ir/Lineage.h"
#include "ir/Mutation.h"
#include "ir/Undetermined.h"
#include "ir/rewrite/Order.h"
#include "ir/rewrite/Rewriter.h"

#include "llvm/ADT/STLExtras.h"

/// A value takes the place of another one.
namespace origo {

/// Why `to` cannot stand in the place of `from`.
const char *Rewriter::mergeRefusal(const Value &from, const Value &to) const {
  bool same = from.type == to.type && from.shape == to.shape && from.shapeSignature() == to.shapeSignature() &&
              sameQuantization(from.quantization, to.quantization);
  if (!same && (!isUndetermined(from) || isUndetermined(to)))
    return "the values differ in type, shape or quantisation";
  if (to.isVariable || from.isVariable)
    return "a variable is not merged with another value";
  if (from.otherUses != from.graphOutputs + from.signatureUses)
    return "the value is named by an operator's intermediates or a quantisation";
  if (from.isInterface() && to.isInterface())
    return "would merge two tensors of the model's interface";
  if (from.isInterface() && !to.producer())
    return "a graph output would become a constant";
  return nullptr;
}

/// `to` becomes the tensor of the model's interface that `from` was.
void Rewriter::moveInterface(Value &from, Value &to) {
  to.name = from.name;
  std::replace(from.parent->outputs.begin(), from.parent->outputs.end(), &from, &to);
  for (Signature &signature : model.signatures)
    for (auto *entries : {&signature.inputs, &signature.outputs})
      for (Signature::Entry &entry : *entries)
        if (entry.value == &from)
          entry.value = &to;
  to.graphOutputs += from.graphOutputs;
  to.signatureUses += from.signatureUses;
  to.otherUses += from.graphOutputs + from.signatureUses;
  from.otherUses = from.graphOutputs = from.signatureUses = 0;
}

/// What is being replaced computes other bits than the source did, by itself or from a constant.
bool Rewriter::replacesInexact() const {
  return llvm::any_of(region, [](const Operator *op) {
    return op->inexact || llvm::any_of(op->operands(), [](const Use &use) { return use.get() && use.get()->inexact; });
  });
}

/// lineage::relations counts on it.
void Rewriter::sortByLineage(Value &value) {
  llvm::stable_sort(value.relations, [](const Relation &a, const Relation &b) { return a.lineage < b.lineage; });
}

/// Users, interface and relations of `from` go to `to`. Where that is not exact, the users compute with other bits than
/// before; `to` is what it was.
void Rewriter::takeOver(Value &from, Value &to, bool exact, llvm::function_ref<uint32_t(uint32_t)> number) {
  if (onRewrite)
    takenOver.emplace_back(&from, &to);
  if (from.isInterface()) {
    moveInterface(from, to);
    to.producer()->inexact |= !exact;
  }
  for (Operator *user : usersInOrder(from))
    push(*user);
  from.forEachUse([&](Use &use) {
    use.user()->inexact |= !exact;
    if (!exact)
      for (Subgraph *callee : use.user()->callees())
        for (Value *input : callee->inputs)
          input->inexact = true;
    use.set(&to);
    lineage::renumber(use, number);
  });
  bool sorted = true;
  for (Relation relation : from.relations) {
    relation.exact &= exact;
    relation.lineage = number(relation.lineage);
    auto same = [&](const Relation &one) {
      return one.tensor == relation.tensor && one.steps == relation.steps && one.lineage == relation.lineage;
    };
    if (!to.relations.empty() && (same(to.relations.front()) || same(to.relations.back()))) {
      Relation &known = same(to.relations.front()) ? to.relations.front() : to.relations.back();
      known.exact &= relation.exact;
      continue;
    }
    sorted &= to.relations.empty() || to.relations.back().lineage <= relation.lineage;
    to.relations.push_back(relation);
  }
  if (!sorted)
    sortByLineage(to);
  mutation::related(model, to);
  if (!to.relations.empty())
    to.noRelation = NoRelation::None;
  from.relations.clear();
}

void Rewriter::standIn(Value &old, Value &value, bool exact, llvm::ArrayRef<uint32_t> numbers, Destinations &into) {
  takeOver(old, value, exact && !replacesInexact(), [&](uint32_t lineage) { return numbers[lineage]; });
  into.add(value);
}

/// `old`, which keeps its name and relations, holds what `constant` was made of.
void Rewriter::becomeConstant(Value &old, Value &constant, llvm::ArrayRef<Lineage> parents, bool exact,
                              Destinations &into) {
  describeParents(old, parents);
  sortByLineage(old);
  mutation::derived(model, old);
  exact &= !replacesInexact();
  old.inexact = !exact;
  for (Relation &relation : old.relations)
    relation.exact &= exact;
  mutation::related(model, old);
  if (old.sourceTensors.empty() && old.sourceOperators.empty())
    old.setSynthetic(reasonName(SyntheticReason::InventedConstant));
  old.definer->resultArray()[old.definerResult] = nullptr;
  old.definer = nullptr;
  old.buffer = &model.addBuffer(std::move(constant.buffer->payload));
  old.buffer->computed = true;
  constant.buffer->payload = {};
  for (Operator *user : usersInOrder(old))
    push(*user);
  into.add(old);
}

/// What a constant was computed from, by lineage.
void Rewriter::describeParents(Value &constant, llvm::ArrayRef<Lineage> parents) {
  for (const Lineage &one : parents) {
    constant.sourceTensors = model.sets.join(constant.sourceTensors, one.tensors);
    constant.sourceOperators = model.sets.join(constant.sourceOperators, one.operators);
  }
  if (parents.size() > 1)
    constant.makeLineages() = std::vector<Lineage>(parents.begin(), parents.end());
}

} // namespace origo
