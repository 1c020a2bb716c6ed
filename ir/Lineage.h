#pragma once

#include "ir/Model.h"

/// What each of several equal operators or constants was, after they have become one.
namespace origo::lineage {

unsigned count(const Operator &op); ///< at least 1
unsigned count(const Value &value); ///< of a computed one, those of who computes it
/// The origins of one of them.
IdSet origins(const Operator &op, uint32_t lineage);
/// The lineage of operand `operand` that one of them uses.
uint32_t ofOperand(const Operator &op, uint32_t lineage, unsigned operand);
/// What one of them was computed from.
Lineage parents(const Value &constant, uint32_t lineage);
/// What one of them equals.
llvm::ArrayRef<Relation> relations(const Value &constant, uint32_t lineage);

/// Adds those of an equal one behind those of the survivor; gives their numbers there, which is that of an older one
/// where that was the same. `swapped`: the two operands are the survivor's in the other order.
llvm::SmallVector<uint32_t, 2> add(Operator &survivor, const Operator &twin, bool swapped);
llvm::SmallVector<uint32_t, 2> add(Value &survivor, const Value &duplicate);

/// Adds one of these origins, which uses what `lineage` uses; gives its number.
uint32_t addLike(Operator &op, uint32_t lineage, IdSet origins);

/// Puts all lineages in an order that does not depend on that of the rewrites, and drops what is there twice.
void settle(Model &model);

/// Which operators of the source something stands for.
std::vector<bool> liveOperators(const Model &model);

/// The value of the use has other lineages from now on.
void renumber(Use &use, llvm::function_ref<uint32_t(uint32_t)> number);

} // namespace origo::lineage
