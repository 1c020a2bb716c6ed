#pragma once

#include "ir/Model.h"

#include "llvm/ADT/DenseSet.h"

namespace origo::eval::exact {

/// What outputs and states of a model are computed from, and what depends on inputs.
class Reach {
public:
  explicit Reach(const Model &model);
  /// Both hold for it.
  bool counts(const Operator &op) const { return live.count(&op) && depends(op); }
  bool moves(const Value *value) const { return value && moving.count(value); } ///< it depends on inputs

private:
  llvm::DenseSet<const Value *> moving;
  llvm::DenseSet<const Operator *> live;

  bool depends(const Operator &op) const;
};

} // namespace origo::eval::exact
