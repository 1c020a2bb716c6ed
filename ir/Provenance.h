#pragma once

#include "ir/IdSet.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PointerUnion.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

namespace origo {
class Operator;
class Value;
struct Destinations;
} // namespace origo

/// Known before the type is complete, because such lists name each other.
template <> struct llvm::PointerLikeTypeTraits<origo::Destinations *> {
  static void *getAsVoidPointer(origo::Destinations *list) { return list; }
  static origo::Destinations *getFromVoidPointer(void *list) { return static_cast<origo::Destinations *>(list); }
  static constexpr int NumLowBitsAvailable = 3;
};

namespace origo {

/// What became of a source operator or tensor that nothing live carries any more. The closed list of the origin map.
enum class Fate : uint8_t {
  Unknown, ///< read from files, never written
  Dead,
  Identity,
  DuplicateOf,
  FoldedToConstant,
  LayoutCancelled,
  QuantizationCancelled,
  Cancelled, ///< together with other operators, of which none is an identity
  Inlined,
  UserRemoved,
  Elsewhere,
  FusedAway, ///< tensors only, like the two below
  Decomposed,
  UnusedInSource,
};
llvm::StringRef fateName(Fate fate); ///< for example "fused-away"
Fate fateFromName(llvm::StringRef name);

/// Why what took the place of a source operator could do without one of its operands. The closed list of the origin
/// map.
enum class UnneededReason : uint8_t {
  Unknown,        ///< read from files, never written
  ShapeOnly,      ///< the operand only states a static shape
  TimesZero,      ///< multiplied by zero
  BranchNotTaken, ///< of a choice that is known
  NotInSlice,     ///< nothing of it is in the part that is used
  Empty,          ///< it has no elements, or what comes of it has none
  TakenAway,      ///< it is added to a difference that it was taken away in
};
llvm::StringRef unneededName(UnneededReason reason); ///< for example "shape-only"
UnneededReason unneededFromName(llvm::StringRef name);

/// "Operand `position` of source operator `user` was not needed." The operand is a result of source operator `id`, or
/// source constant `id`, which may be dead although `user` lives.
struct Unneeded {
  bool ofTensor;
  UnneededReason reason;
  uint32_t id, user, position;
};

/// Why an operator or a constant stands for nothing in the source. The closed list of the origin map.
enum class SyntheticReason : uint8_t {
  TypeBridge,
  LayoutBridge,
  QuantizeBorder,
  InventedConstant,
  Broadcast,
  UserInserted,
  ScaleBridge,
};
llvm::StringRef reasonName(SyntheticReason reason); ///< for example "layout-bridge"
std::optional<SyntheticReason> syntheticReasonFromName(llvm::StringRef name);

/// Why a tensor is related to none of the source. The closed list of the origin map.
enum class NoRelation : uint8_t { None, NewIntermediate, Approximated, SplitSum, State, Synthetic };
llvm::StringRef noRelationName(NoRelation reason);   ///< for example "new-intermediate"; empty: none
NoRelation noRelationFromName(llvm::StringRef name); ///< None: not in the list

/// One step on the way from a source tensor to a live one. See docs/origin-map.md for what each one means.
struct Step {
  enum Kind : uint8_t { Permute, Reshape, Slice, Placed, Cast, Affine, Quantize, Scaled };
  /// A factor or an addend of Affine: a constant of the model, a number, a constant of the source, or nothing. One step
  /// has constants of one of the two only.
  struct Term {
    enum Kind : uint8_t { None, Number, Constant, Source } kind = None;
    uint32_t tensor = 0; ///< Source: its id
    union {
      double number = 0; ///< None, Number
      const Value *constant;
    };
    static Term of(double number) { return {Number, 0, {number}}; }
    static Term of(const Value *constant) { return {Constant, 0, {.constant = constant}}; }
    static Term ofSource(uint32_t tensor) { return {Source, tensor, {}}; }
    bool operator==(const Term &other) const {
      return kind == other.kind && tensor == other.tensor &&
             (kind == Constant ? constant == other.constant : number == other.number);
    }
  };
  Kind kind = Reshape;
  /// A constant with more numbers than this is no factor that a relation could tell.
  static constexpr uint64_t mostFactors = 1024;
  int axis = -1;                             ///< Affine, Scaled
  Term scale = {}, shift = {};               ///< Affine
  llvm::SmallVector<int64_t, 0> first = {};  ///< Permute: permutation; Slice, Placed: begin
  llvm::SmallVector<int64_t, 0> second = {}; ///< Slice, Placed: size
  llvm::SmallVector<float, 0> factors = {};  ///< Scaled: by index along the axis
  bool operator==(const Step &) const = default;
};

/// "This tensor is source tensor `tensor`, with `steps` applied in order."
struct Relation {
  uint32_t tensor = 0;
  uint32_t steps = 0;        ///< handle into StepLists; 0: equal
  uint32_t exact : 1 = true; ///< bit-equal by construction; else equal up to float re-association
  static constexpr uint32_t mostLineages = (1u << 31) - 1;
  uint32_t lineage : 31 = 0; ///< of the value's lineages, the one that this is said by
};

/// The relations of a value. Nearly all have one or none, which takes no memory of its own.
class Relations {
public:
  Relations() = default;
  Relations(std::initializer_list<Relation> relations) { append(relations); }
  Relations(const Relations &other) { append(other); }
  Relations(Relations &&other) noexcept { swap(other); }
  ~Relations() { clear(); }
  Relations &operator=(Relations other) {
    swap(other);
    return *this;
  }
  const Relation *begin() const { return const_cast<Relations *>(this)->begin(); }
  Relation *begin() { return count < 2 ? reinterpret_cast<Relation *>(store) : many(); }
  const Relation *end() const { return begin() + count; }
  Relation *end() { return begin() + count; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const Relation &operator[](size_t i) const { return begin()[i]; }
  Relation &operator[](size_t i) { return begin()[i]; }
  const Relation &front() const { return *begin(); }
  Relation &front() { return *begin(); }
  const Relation &back() const { return end()[-1]; }
  Relation &back() { return end()[-1]; }
  operator llvm::ArrayRef<Relation>() const { return {begin(), count}; }
  void push_back(Relation relation);
  void append(llvm::ArrayRef<Relation> more) {
    for (const Relation &relation : more)
      push_back(relation);
  }
  void clear() {
    if (count > 1)
      delete[] many();
    count = 0;
  }
  void erase(Relation *first, Relation *last) {
    Relations kept;
    kept.append({static_cast<const Relation *>(begin()), first});
    kept.append({static_cast<const Relation *>(last), end()});
    swap(kept);
  }

private:
  uint32_t count = 0;
  alignas(Relation) unsigned char store[sizeof(Relation)]; ///< the only one, or the address of several
  Relation *many() const {
    Relation *address;
    std::memcpy(&address, store, sizeof(address));
    return address;
  }
  void swap(Relations &other) noexcept {
    std::swap(count, other.count);
    std::swap(store, other.store);
  }
};

/// Equal operators, or constants, that became one are one to compute and several to remember: what each was, so that
/// what is made of the one later descends from that which it used. None where there is only one. The map tells of them.
struct Lineage {
  IdSet operators, tensors;                     ///< an operator's origins; what a constant was computed from
  llvm::SmallVector<uint32_t, 2> operands = {}; ///< by operand of an operator: the lineage of what it uses
};

/// Interned lists of steps in normal form (adjacent permutes composed, reshapes collapsed, identities dropped).
class StepLists {
public:
  StepLists() : lists(1), table(64) {}
  /// A way of more steps says nothing that anybody would look up, and a chain of n rewrites must not make n lists of n.
  static constexpr size_t longest = 8;
  uint32_t append(uint32_t steps, const Step &step);
  /// Appends them to `steps`; false: that would be too long.
  bool extend(uint32_t &steps, llvm::ArrayRef<Step> more);
  llvm::ArrayRef<Step> get(uint32_t steps) const { return lists[steps].steps; }

private:
  struct List {
    uint32_t parent = 0; ///< the list without the last step
    llvm::OwningArrayRef<Step> steps;
  };
  std::deque<List> lists;      ///< [0] is the empty one
  std::vector<uint32_t> table; ///< open addressing over `lists`, 0 = free

  size_t slotOf(uint32_t parent, const Step &last) const;
};

/// Interned lists of pass names in order of application, without repeats. The names must outlive it.
class PassLists {
public:
  PassLists() : nodes(1) {}
  uint32_t add(uint32_t list, llvm::StringRef pass);
  uint32_t join(uint32_t a, uint32_t b);
  llvm::SmallVector<llvm::StringRef> get(uint32_t list) const;

private:
  struct Node {
    uint32_t previous;
    llvm::StringRef pass;
  };
  std::vector<Node> nodes;
  llvm::DenseMap<std::pair<uint32_t, llvm::StringRef>, uint32_t> index;
};

/// Why an operator that stands for no source operator is there.
struct Synthetic {
  llvm::StringRef reason; ///< one of the reasons of the origin map, for example "layout-bridge"
  IdSet serves;           ///< never empty
};

/// A part of a divided model: the base name of its file and its fingerprint, "sha256:…".
struct Part {
  llvm::StringRef file, fingerprint;
};

/// The last carrier of `ids` may have gone. Those of them that nothing live carries in the end get a ledger row from
/// the last tombstone that names them: appending is all that a rewrite pays.
struct Tombstone {
  bool ofTensors : 1 = false;
  Fate fate : 4 = Fate::Unknown;
  Fate was : 4 = Fate::Unknown; ///< continued from a map: the first fate of what is dead
  uint16_t run = 0;             ///< position in the chain of runs, which has no more than `mostRuns`
  static constexpr uint32_t mostRuns = 1 << 16;
  IdSet ids;
  uint32_t pass = 0;                                          ///< handle into PassLists of a list of one; 0: not known
  uint32_t rewrite = 0;                                       ///< running number in that run
  llvm::PointerUnion<Destinations *, const Part *> into = {}; ///< a part: of the fate Elsewhere
};

/// A ledger row with its way followed to the written model.
struct LedgerRow {
  bool isTensor;
  uint32_t id;
  Fate fate;
  Fate was; ///< Unknown unless the fate is Dead and an earlier one led to nothing
  llvm::StringRef pass;
  uint32_t run, rewrite;
  llvm::SmallVector<const Operator *, 1> operators;
  llvm::SmallVector<const Value *, 1> values;
  const Part *part;               ///< of the fate Elsewhere
  IdSet with;                     ///< of an operator that cancelled out: those that did together with it
  const LedgerRow *led = nullptr; ///< where the rewrites have led it; null: nothing tells that apart from this row
};

} // namespace origo
