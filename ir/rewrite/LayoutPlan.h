#pragma once

#include "ir/Model.h"

#include "llvm/ADT/DenseSet.h"

namespace origo::rewrite {

/// Which operators are better computed with channels last. Those that work on pictures of either layout (arithmetic,
/// padding, concatenation) and read what was turned to channels first, or each other, form a region; it is turned
/// where the transposes around it that then cancel move more elements than those that are added. Linear in the model.
class LayoutPlan {
public:
  explicit LayoutPlan(Model &model);
  bool contains(const Operator &op) const { return turned.contains(&op); }
  /// The memory of an operator is used for another.
  void forget(const Operator &op) { turned.erase(&op); }

private:
  llvm::DenseSet<const Operator *> turned;
};

} // namespace origo::rewrite
