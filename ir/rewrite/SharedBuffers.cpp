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
  llvm::DenseMap<const Buffer *, llvm::SmallVector<uint32_t, 1>> users;
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (hasOwnBytes(*value))
        if (std::optional<uint32_t> source = sourceOf(model, *value))
          users[value->buffer].push_back(*source);
  unsigned group = 0;
  for (const Buffer *buffer : model.buffers)
    if (auto known = users.find(buffer); known != users.end()) {
      bool isNew = false; // the first buffer of a tensor decides
      for (uint32_t tensor : known->second)
        isNew |= groups.try_emplace(tensor, group).second;
      group += isNew;
    }
}

llvm::Error SharedBuffers::restore(Model &model) const {
  std::vector<llvm::SmallVector<Value *, 1>> members(groups.size());
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      if (auto source = hasOwnBytes(*value) ? sourceOf(model, *value) : std::nullopt)
        if (auto group = groups.find(*source); group != groups.end())
          members[group->second].push_back(value);
  for (llvm::ArrayRef<Value *> values : members) {
    if (llvm::all_of(values, [&](const Value *value) { return value->buffer == values.front()->buffer; }))
      continue; // nothing is read to learn that
    std::map<std::pair<uint64_t, uint64_t>, llvm::SmallVector<Buffer *, 1>> firsts;
    for (Value *value : values) {
      Buffer &own = *value->buffer;
      llvm::SmallVector<Buffer *, 1> &alike = firsts[{own.payload.size(), own.payload.hash()}];
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
  }
  return llvm::Error::success();
}

} // namespace origo::rewrite
