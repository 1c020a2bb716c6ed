#include "ir/IdSet.h"
#include "ir/Provenance.h"

/// No origins, no pass lists, and so no ledger either: linked in the place of the real ones into a circle2circle that
/// shows what keeping them costs. It cannot write origin maps.
namespace origo {

IdSets::IdSets() = default;
uint32_t IdSets::contiguous(uint32_t, uint32_t) { return 0; }
uint32_t IdSets::joinNodes(uint32_t, uint32_t) { return 0; }
uint32_t IdSets::minusNodes(uint32_t, uint32_t) { return 0; }
IdSet IdSets::of(llvm::ArrayRef<uint32_t>) { return {}; }
bool IdSets::contains(IdSet, uint32_t) const { return false; }
void IdSets::keepOnly(llvm::function_ref<void(llvm::function_ref<void(IdSet)>)>) {}
std::optional<uint32_t> IdSets::next(IdSet, uint32_t) const { return std::nullopt; }
void IdSets::forEach(IdSet, llvm::function_ref<void(uint32_t)>) const {}
void IdSets::forEachNewRun(IdSet, Walked &, llvm::function_ref<void(uint32_t, uint32_t)>) const {}
llvm::SmallVector<uint32_t> IdSets::members(IdSet) const { return {}; }

uint32_t PassLists::add(uint32_t, llvm::StringRef) { return 0; }
uint32_t PassLists::join(uint32_t, uint32_t) { return 0; }
llvm::SmallVector<llvm::StringRef> PassLists::get(uint32_t) const { return {}; }

} // namespace origo
