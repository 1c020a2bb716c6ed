#pragma once

#include "passes/Pass.h"

namespace origo {

/// Where passes have taken rounding away because they were asked to, in a model that they have had their turn on.
class DeclaredChanges {
public:
  explicit DeclaredChanges(const Model &model);
  /// The pass because of which the tensor may be another one than the source tensor that it stands for, or, where that
  /// is not told, than it was. Null: there is none.
  const Pass *behind(const Value &value, std::optional<uint32_t> source) const;

private:
  const Model &model;
  std::map<const Pass *, std::vector<IdSet>> gone; ///< source operators that went by it
};

} // namespace origo
