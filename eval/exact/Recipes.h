#pragma once

#include "ir/DetachedOperator.h"

#include <map>
#include <memory>

namespace origo::eval::exact {

/// How constants of a model were computed: by operators on constants. What is in their bytes was rounded on the way;
/// with these, it is computed again without.
class Recipes {
public:
  struct Recipe {
    std::unique_ptr<DetachedOperator> op;
    unsigned result;
    Payload payload; ///< lives as long, so that no other one gets its place
  };
  /// An operator and what it was folded to, as it is now.
  void add(const Operator &op, llvm::ArrayRef<Payload> results);
  /// Null: the bytes are no result of an operator.
  const Recipe *find(const Payload &payload) const;

private:
  using Key = std::tuple<const void *, uint64_t, uint64_t>;
  static Key keyOf(const Payload &payload) {
    auto [owner, start] = payload.identity();
    return {owner, start, payload.size()};
  }
  std::map<Key, Recipe> all;
};

} // namespace origo::eval::exact
