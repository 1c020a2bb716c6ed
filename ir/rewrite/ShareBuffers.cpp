#include "ir/rewrite/ShareBuffers.h"

#include "ir/ConstantExpressions.h"

#include "llvm/Support/xxhash.h"

#include <map>

namespace origo::rewrite {

using Key = std::pair<uint64_t, uint64_t>;

/// Of all bytes, which only those are asked for whose sizes and ends are equal: so it is one look at each.
static llvm::Expected<Key> contentKey(const Payload &payload) {
  if (llvm::Error error = payload.materialize())
    return error;
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(payload.bytes());
  return Key(hash.low64, hash.high64);
}

/// Below it a buffer of its own costs next to nothing, and numbers that stand where they are used are easier to read.
static constexpr uint64_t smallest = 256;

llvm::Error shareEqualBuffers(Model &model) {
  struct Alike {
    Buffer *first = nullptr;
    std::map<Key, Buffer *> byContent; ///< once there are two
  };
  std::map<Key, Alike> byEnds;
  llvm::DenseMap<Buffer *, Buffer *> shared; ///< what takes the place of each that was seen
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values) {
      Buffer *own = value->buffer;
      if (value->erased() || !value->isConstant() || !own || own->payload.size() < smallest || !own->payload.hasBytes())
        continue;
      auto [known, isNew] = shared.try_emplace(own, own);
      if (isNew) {
        Alike &alike = byEnds[{own->payload.size(), own->payload.hash()}];
        if (!alike.first) {
          alike.first = own;
          continue;
        }
        if (alike.byContent.empty()) {
          llvm::Expected<Key> first = contentKey(alike.first->payload);
          if (!first)
            return first.takeError();
          alike.byContent.try_emplace(*first, alike.first);
        }
        llvm::Expected<Key> key = contentKey(own->payload);
        if (!key)
          return key.takeError();
        Buffer *same = alike.byContent.try_emplace(*key, own).first->second;
        if (same->payload.sameBytes(own->payload))
          known->second = same;
        if (known->second != own) {
          if (model.expressions)
            model.expressions->share(own->payload, known->second->payload);
          known->second->computed = false; // it does not go with one of its values
          if (own->computed)
            own->payload = {};
        }
      }
      value->buffer = known->second;
    }
  return llvm::Error::success();
}

} // namespace origo::rewrite
