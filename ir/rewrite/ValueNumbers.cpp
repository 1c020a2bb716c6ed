#include "ir/rewrite/ValueNumbers.h"

#include "ir/rewrite/SameOptions.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/xxhash.h"

namespace origo {

/// What tells one constant from another but for its bytes.
static bool sameDescription(const Value &a, const Value &b) {
  return a.subgraph() == b.subgraph() && a.type == b.type && a.shape == b.shape && a.hasShape == b.hasShape &&
         a.shapeSignature() == b.shapeSignature() && sameQuantization(a.quantization, b.quantization) &&
         a.payload().size() == b.payload().size();
}

/// Its bytes are at hand and say all.
static bool isPlainConstant(const Value &value) {
  return value.isConstant() && !value.sparsity() && !value.compression && !value.externalBuffer &&
         value.variants().empty() && value.payload().hasBytes();
}

bool sameConstant(const Value &a, const Value &b) {
  return isPlainConstant(a) && isPlainConstant(b) && sameDescription(a, b) && a.payload().sameBytes(b.payload());
}

static uint64_t hashOf(const Quantization *q) {
  if (!q || !q->quantized())
    return 0;
  return llvm::hash_combine(llvm::hash_combine_range(reinterpret_cast<const uint32_t *>(q->scale.begin()),
                                                     reinterpret_cast<const uint32_t *>(q->scale.end())),
                            llvm::hash_combine_range(q->zeroPoint.begin(), q->zeroPoint.end()), q->dimension);
}

static uint64_t hashOf(const Value &value) {
  return llvm::hash_combine(static_cast<int>(value.type),
                            llvm::hash_combine_range(value.shape.begin(), value.shape.end()),
                            hashOf(value.quantization));
}

/// Of what is cheap to look at: description and both ends.
static uint64_t quickHash(const Value &constant) {
  return llvm::hash_combine(hashOf(constant), constant.payload().hash());
}

/// Of all bytes.
static uint64_t hashOf(const Payload &payload) {
  uint64_t hash = payload.size();
  std::vector<uint8_t> window(std::min<uint64_t>(payload.size(), 1 << 20));
  for (uint64_t at = 0; at < payload.size(); at += window.size()) {
    window.resize(std::min<uint64_t>(window.size(), payload.size() - at));
    payload.read(at, window);
    hash = llvm::hash_combine(hash, llvm::xxh3_64bits(window));
  }
  return hash;
}

/// The hash of fewer bytes costs less than to remember it.
constexpr uint64_t soonRead = 1024;

uint64_t ValueNumbers::contentOf(const Value &value) {
  const Payload &payload = value.payload();
  if (payload.size() <= soonRead)
    return hashOf(payload);
  auto [known, isNew] = contents.try_emplace(&value, 0);
  if (isNew)
    known->second = hashOf(payload);
  return known->second;
}

/// Away from DenseMap's reserved keys.
static uint64_t key(uint64_t hash) { return hash >> 2; }

/// The first of what has a quick hash is remembered by that alone. Once there are two, all are told apart by all their
/// bytes, so that many things with equal ends cost no more than reading them once.
template <class T>
template <class Same>
T *ValueNumbers::Table<T>::find(T &item, uint64_t quick, llvm::function_ref<uint64_t(const T &)> full, Same same) {
  auto &first = firsts[key(quick)];
  llvm::SmallVector<T *, 2> unknown{&item};
  if (!first.getInt()) {
    T *one = first.getPointer();
    if (!one || one == &item || one->erased()) {
      first.setPointer(&item);
      return nullptr;
    }
    unknown.insert(unknown.begin(), one);
    first.setInt(true);
  }
  T *found = nullptr;
  for (T *one : unknown) {
    auto &equals = others[key(llvm::hash_combine(quick, full(*one)))];
    llvm::erase_if(equals, [](T *other) { return other->erased(); });
    if (one == &item)
      for (T *other : equals)
        if (other != &item && same(*other, item))
          found = other;
    if (!found && !llvm::is_contained(equals, one))
      equals.push_back(one);
  }
  return found;
}

Value *ValueNumbers::find(Value &value) {
  if (!isPlainConstant(value))
    return nullptr;
  return constants.find(
      value, llvm::hash_combine(quickHash(value), value.subgraph()), [&](const Value &one) { return contentOf(one); },
      [](const Value &a, const Value &b) { return sameConstant(a, b); });
}

static std::vector<uint8_t> encoded(const Options &options, llvm::StringRef unionName) {
  const wire::EnumValue *row =
      wire::Schema::circle().enumeration(unionName)->find(static_cast<int64_t>(options.member));
  if (!row || !row->table)
    return {};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(wire::copyTable(builder, *row->table, options.table)));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

static bool sameOptions(const Options &a, const Options &b, llvm::StringRef unionName) {
  if (a.member != b.member || a.table == b.table)
    return a.member == b.member;
  return encoded(a, unionName) == encoded(b, unionName);
}

bool sameOptions(const Operator &a, const Operator &b) {
  return sameOptions(a.options, b.options, "BuiltinOptions") &&
         sameOptions(a.options2(), b.options2(), "BuiltinOptions2") && a.customOptions().sameBytes(b.customOptions());
}

static bool sameOperand(const Value *a, const Value *b) { return a == b || (a && b && sameConstant(*a, *b)); }

static bool isCommutative(const Operator &op) {
  return op.numOperands() == 2 && op.info() && op.info()->has(Trait::Commutative);
}

static bool sameWork(const Operator &a, const Operator &b) {
  bool cheap = a.code == b.code && a.version == b.version && a.customCode() == b.customCode() &&
               a.numOperands() == b.numOperands() && a.results().size() == b.results().size() &&
               a.intermediates().empty() && b.intermediates().empty();
  if (!cheap)
    return false;
  bool operands =
      llvm::all_of(llvm::seq(0u, a.numOperands()), [&](unsigned i) { return sameOperand(a.operand(i), b.operand(i)); });
  if (!operands && isCommutative(a))
    operands = sameOperand(a.operand(0), b.operand(1)) && sameOperand(a.operand(1), b.operand(0));
  return operands && sameOptions(a, b);
}

uint64_t ValueNumbers::keyOf(const Operator &op, bool full) {
  llvm::SmallVector<uint64_t, 8> operands;
  for (const Use &use : op.operands()) {
    const Value *value = use.get();
    operands.push_back(!value                     ? 0
                       : !isPlainConstant(*value) ? static_cast<uint64_t>(llvm::hash_value(value))
                       : full ? static_cast<uint64_t>(llvm::hash_combine(hashOf(*value), contentOf(*value)))
                              : quickHash(*value));
  }
  if (isCommutative(op))
    llvm::sort(operands);
  uint64_t results = 0;
  for (const Value *value : op.results())
    results = llvm::hash_combine(results, value ? hashOf(*value) : 0);
  std::vector<uint8_t> options =
      op.options.member ? encoded(op.options, "BuiltinOptions") : encoded(op.options2(), "BuiltinOptions2");
  return llvm::hash_combine(static_cast<int>(op.code), op.subgraph(), results,
                            llvm::hash_combine_range(operands.begin(), operands.end()), llvm::xxh3_64bits(options));
}

Operator *ValueNumbers::findEqual(Operator &op) {
  if (op.info() && op.info()->has(Trait::HoldsSubgraphs))
    return nullptr;
  return operators.find(
      op, keyOf(op, false), [&](const Operator &one) { return keyOf(one, true); },
      [](const Operator &a, const Operator &b) { return sameWork(a, b); });
}

} // namespace origo
