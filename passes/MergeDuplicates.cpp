#include "passes/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

namespace origo {

static bool sameConstant(const Value &a, const Value &b) {
  return a.isConstant() && b.isConstant() && a.type == b.type && a.shape == b.shape && a.hasShape == b.hasShape &&
         a.shapeSignature == b.shapeSignature && !a.sparsity && !b.sparsity && !a.compression && !b.compression &&
         !a.externalBuffer && !b.externalBuffer && a.variants->empty() && b.variants->empty() &&
         sameQuantization(a.quantization, b.quantization) && a.payload().sameBytes(b.payload());
}

static std::vector<uint8_t> encoded(uint8_t member, const flatbuffers::Table *table, const wire::Enumeration &members) {
  const wire::EnumValue *row = members.find(static_cast<int64_t>(member));
  if (!row || !row->table)
    return {};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(wire::copyTable(builder, *row->table, table)));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

static bool sameOptions(const Options &a, const Options &b, llvm::StringRef unionName) {
  if (a.member != b.member || a.table == b.table)
    return a.member == b.member;
  const wire::Enumeration &members = *wire::Schema::circle().enumeration(unionName);
  return encoded(a.member, a.table, members) == encoded(b.member, b.table, members);
}

static bool sameWork(Operator &a, Operator &b) {
  return a.code == b.code && a.version == b.version && a.customCode.get() == b.customCode.get() &&
         a.numOperands() == b.numOperands() && a.results().size() == b.results().size() && a.intermediates->empty() &&
         b.intermediates->empty() &&
         llvm::equal(a.operands(), b.operands(),
                     [](const Use &x, const Use &y) {
                       return x.get() == y.get() || (x.get() && y.get() && sameConstant(*x.get(), *y.get()));
                     }) &&
         sameOptions(a.options, b.options, "BuiltinOptions") &&
         sameOptions(a.options2, b.options2, "BuiltinOptions2") && a.customOptions->sameBytes(b.customOptions);
}

/// f(x), f(x) → f(x). What else uses the first operand that is no constant is looked at, up to a limit: nobody computes
/// the same a hundred times, and a value with many users must not cost their square.
RewriteResult mergeDuplicates(Operator &op, Rewriter &rw) {
  constexpr unsigned limit = 128;
  Value *shared = nullptr;
  for (Use &use : op.operands())
    if (!shared && use.get() && !use.get()->isConstant())
      shared = use.get();
  if (!shared || op.info()->has(Trait::HoldsSubgraphs))
    return decline("no computed operand to find a twin by");
  Operator *twin = nullptr;
  unsigned looked = 0;
  shared->forEachUse([&](Use &use) {
    Operator &other = *use.user();
    if (++looked <= limit && &other != &op && other.index < op.index && (!twin || other.index < twin->index) &&
        sameWork(other, op))
      twin = &other;
  });
  if (!twin)
    return decline("no earlier operator does the same");
  return rw.mergeInto(*twin);
}

/// Equal constants → one, in each subgraph.
void mergeDuplicateConstants(Rewriter &rw) {
  for (auto &graph : rw.model.subgraphs) {
    llvm::DenseMap<uint64_t, llvm::SmallVector<Value *, 1>> seen;
    for (Value *value : std::vector<Value *>(graph->values)) {
      if (value->erased() || !value->isConstant() || value->isInterface() || !value->payload().hasBytes())
        continue;
      llvm::ArrayRef<uint8_t> bytes = value->payload().bytes();
      uint64_t hash =
          llvm::hash_combine(bytes.size(), static_cast<int>(value->type), value->shape.size(),
                             llvm::xxh3_64bits(bytes.take_front(4096)), llvm::xxh3_64bits(bytes.take_back(4096)));
      auto &candidates = seen[hash >> 2]; // away from DenseMap's two reserved keys
      auto same = llvm::find_if(candidates, [&](Value *other) { return sameConstant(*other, *value); });
      if (same == candidates.end())
        candidates.push_back(value);
      else if (value->otherUses == 0)
        rw.mergeConstants("merge-duplicate-constants", **same, *value);
    }
  }
}

} // namespace origo
