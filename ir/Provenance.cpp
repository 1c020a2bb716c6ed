#include "ir/Provenance.h"

#include "ir/Model.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>

namespace origo {

static constexpr llvm::StringLiteral fateNames[] = {
    "unknown",
    "dead",
    "identity",
    "duplicate-of",
    "folded-to-constant",
    "layout-cancelled",
    "quantization-cancelled",
    "cancelled",
    "inlined",
    "user-removed",
    "elsewhere",
    "fused-away",
    "decomposed",
    "unused-in-source",
};

void Relations::push_back(Relation relation) {
  if (count == 0)
    new (store) Relation(relation);
  else if (!llvm::isPowerOf2_32(count))
    many()[count] = relation;
  else { // there is always room for a power of two of them, so it is used up
    Relation *room = new Relation[size_t(count) * 2];
    llvm::copy(*this, room);
    room[count] = relation;
    if (count > 1)
      delete[] many();
    std::memcpy(store, &room, sizeof(room));
  }
  ++count;
}

llvm::StringRef fateName(Fate fate) { return fateNames[static_cast<unsigned>(fate)]; }

Fate fateFromName(llvm::StringRef name) {
  const auto *found = llvm::find(fateNames, name);
  return found == std::end(fateNames) ? Fate::Unknown : static_cast<Fate>(found - fateNames);
}

static constexpr llvm::StringLiteral noRelationNames[] = {"",      "new-intermediate", "approximated", "split-sum",
                                                          "state", "synthetic"};

llvm::StringRef noRelationName(NoRelation reason) { return noRelationNames[static_cast<unsigned>(reason)]; }

NoRelation noRelationFromName(llvm::StringRef name) {
  const auto *found = llvm::find(noRelationNames, name);
  return found == std::end(noRelationNames) ? NoRelation::None : static_cast<NoRelation>(found - noRelationNames);
}

static constexpr llvm::StringLiteral reasonNames[] = {"type-bridge",       "layout-bridge", "quantize-border",
                                                      "invented-constant", "broadcast",     "user-inserted",
                                                      "scale-bridge"};

llvm::StringRef reasonName(SyntheticReason reason) { return reasonNames[static_cast<unsigned>(reason)]; }

std::optional<SyntheticReason> syntheticReasonFromName(llvm::StringRef name) {
  const auto *found = llvm::find(reasonNames, name);
  return found == std::end(reasonNames) ? std::nullopt
                                        : std::optional(static_cast<SyntheticReason>(found - reasonNames));
}

static constexpr llvm::StringLiteral unneededNames[] = {
    "unknown", "shape-only", "times-zero", "branch-not-taken", "not-in-slice", "empty", "taken-away",
};

llvm::StringRef unneededName(UnneededReason reason) { return unneededNames[static_cast<unsigned>(reason)]; }

UnneededReason unneededFromName(llvm::StringRef name) {
  const auto *found = llvm::find(unneededNames, name);
  return found == std::end(unneededNames) ? UnneededReason::Unknown
                                          : static_cast<UnneededReason>(found - unneededNames);
}

static unsigned hashStep(const Step &s) {
  unsigned factors = 0;
  for (float factor : s.factors)
    factors = llvm::hash_combine(factors, llvm::bit_cast<uint32_t>(factor));
  return llvm::hash_combine(s.kind, s.axis, llvm::hash_combine_range(s.first.begin(), s.first.end()),
                            llvm::hash_combine_range(s.second.begin(), s.second.end()),
                            llvm::bit_cast<uint64_t>(s.scale.number), llvm::bit_cast<uint64_t>(s.shift.number),
                            s.scale.tensor, s.shift.tensor, factors);
}

static bool isIdentityPermutation(llvm::ArrayRef<int64_t> p) {
  return llvm::all_of(llvm::enumerate(p), [](auto e) { return e.value() == static_cast<int64_t>(e.index()); });
}

/// Joins `next` to `last` where the two are one step; `last` becomes the result. An identity has an empty permutation.
static bool merge(Step &last, const Step &next) {
  if (last.kind != next.kind)
    return false;
  switch (next.kind) {
  case Step::Reshape:
  case Step::Quantize:
    return true;
  case Step::Permute: {
    llvm::SmallVector<int64_t, 0> composed;
    for (int64_t axis : next.first)
      composed.push_back(last.first[axis]);
    last.first = isIdentityPermutation(composed) ? llvm::SmallVector<int64_t, 0>{} : composed;
    return true;
  }
  case Step::Scaled:
    if (last.axis != next.axis || last.factors.size() != next.factors.size())
      return false;
    for (auto [factor, more] : llvm::zip_equal(last.factors, next.factors))
      factor *= more;
    return llvm::all_of(last.factors, [](float factor) { return std::isfinite(factor); });
  case Step::Affine: {
    auto isTensor = [](const Step::Term &term) {
      return term.kind == Step::Term::Constant || term.kind == Step::Term::Source;
    };
    if (isTensor(last.scale) || isTensor(last.shift) || isTensor(next.scale) || isTensor(next.shift))
      return false;
    double factor = next.scale.kind == Step::Term::Number ? next.scale.number : 1;
    double scale = (last.scale.kind == Step::Term::Number ? last.scale.number : 1) * factor;
    double shift = last.shift.number * factor + next.shift.number;
    last.scale = scale == 1 ? Step::Term{} : Step::Term::of(scale);
    last.shift = shift == 0 ? Step::Term{} : Step::Term::of(shift);
    return true;
  }
  default:
    return false;
  }
}

static bool isNeutral(const Step::Term &term, double neutral) {
  return term.kind == Step::Term::None || (term.kind == Step::Term::Number && term.number == neutral);
}

static bool isIdentity(const Step &s) {
  if (s.kind == Step::Scaled)
    return llvm::all_of(s.factors, [](float factor) { return factor == 1; });
  return (s.kind == Step::Permute && isIdentityPermutation(s.first)) ||
         (s.kind == Step::Affine && isNeutral(s.scale, 1) && isNeutral(s.shift, 0));
}

/// Where a list is, or would be.
size_t StepLists::slotOf(uint32_t parent, const Step &last) const {
  size_t slot = llvm::hash_combine(parent, hashStep(last)) & (table.size() - 1);
  while (table[slot] && (lists[table[slot]].parent != parent || lists[table[slot]].steps.back() != last))
    slot = (slot + 1) & (table.size() - 1);
  return slot;
}

bool StepLists::extend(uint32_t &steps, llvm::ArrayRef<Step> more) {
  for (const Step &step : more)
    steps = append(steps, step);
  return get(steps).size() <= longest;
}

uint32_t StepLists::append(uint32_t steps, const Step &step) {
  for (const Step::Term *term : {&step.scale, &step.shift})
    if (term->kind == Step::Term::Constant)
      term->constant->named = true;
  if (isIdentity(step))
    return steps;
  if (!lists[steps].steps.empty()) {
    Step last = lists[steps].steps.back();
    if (merge(last, step))
      return isIdentity(last) ? lists[steps].parent : append(lists[steps].parent, last);
  }
  size_t slot = slotOf(steps, step);
  if (table[slot])
    return table[slot];
  uint32_t made = lists.size();
  llvm::ArrayRef<Step> before = lists[steps].steps; // a deque's elements stay where they are
  llvm::OwningArrayRef<Step> all(before.size() + 1);
  llvm::copy(before, all.begin());
  all.back() = step;
  lists.push_back({steps, std::move(all)});
  table[slot] = made;
  if (lists.size() * 4 > table.size() * 3) {
    table.assign(table.size() * 2, 0);
    for (uint32_t i = 1; i < lists.size(); ++i)
      table[slotOf(lists[i].parent, lists[i].steps.back())] = i;
  }
  return made;
}

} // namespace origo
