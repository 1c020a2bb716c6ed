#include "ir/rewrite/SharedBuffers.h"

#include <map>

namespace origo::rewrite {

static bool hasOwnBytes(const Value &value) {
  return !value.erased() && value.isConstant() && value.buffer && !value.buffer->payload.empty() &&
         value.buffer->payload.hasBytes();
}

/// The source tensor that a constant is or comes of; none: it was invented.
static std::optional<uint32_t> sourceOf(const Model &model, const Value &value) {
  return value.relations.empty() ? model.sets.next(value.sourceTensors, 0)
                                 : std::optional(value.relations.front().tensor);
}

SharedBuffers::SharedBuffers(const Model &model) {
  struct Users {
    llvm::SmallVector<uint32_t, 1> tensors;
    size_t uses = 0;
  };
  llvm::DenseMap<const Buffer *, Users> users;
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (hasOwnBytes(*value))
        if (std::optional<uint32_t> source = sourceOf(model, *value)) {
          Users &own = users[value->buffer];
          own.tensors.push_back(*source);
          own.uses += value->useCount();
        }
  unsigned group = 0;
  for (const Buffer *buffer : model.buffers)
    if (auto known = users.find(buffer); known != users.end() && known->second.uses > 1) {
      for (uint32_t tensor : known->second.tensors)
        groups.try_emplace(tensor, group);
      ++group;
    }
}

llvm::Error SharedBuffers::restore(Model &model) const {
  if (groups.empty())
    return llvm::Error::success();
  std::map<std::tuple<unsigned, uint64_t, uint64_t>, llvm::SmallVector<Buffer *, 1>> firsts;
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values) {
      auto source = hasOwnBytes(*value) ? sourceOf(model, *value) : std::nullopt;
      auto group = source ? groups.find(*source) : groups.end();
      if (group == groups.end())
        continue;
      Buffer &own = *value->buffer;
      llvm::SmallVector<Buffer *, 1> &alike = firsts[{group->second, own.payload.size(), own.payload.hash()}];
      Buffer *same = nullptr;
      for (Buffer *other : alike) {
        if (other == &own) {
          same = other;
          break;
        }
        for (Buffer *one : {other, &own})
          if (llvm::Error error = one->payload.materialize())
            return error;
        if (other->payload.sameBytes(own.payload)) {
          same = other;
          break;
        }
      }
      if (!same) {
        alike.push_back(&own);
        continue;
      }
      if (same == &own)
        continue;
      if (own.computed)
        own.payload = {};
      same->computed = false; // it does not go with one of its values
      value->buffer = same;
    }
  return llvm::Error::success();
}

} // namespace origo::rewrite
