#pragma once

#include "eval/exact/Machine.h"

#include "llvm/ADT/MapVector.h"

namespace origo::eval::exact {

/// What a model keeps from one run to the next. It begins with numbers at random, the same for what stands for the same
/// variable of the source, so that what is proved holds for every run and not only for the first.
class Variables {
public:
  explicit Variables(const Machine &machine) : machine(machine) {}
  /// What a variable tensor holds.
  llvm::Expected<Held> variable(const Value &value);
  void set(const Value &value, Held held) { tensors[&value] = std::move(held); }
  /// Makes, reads or assigns a resource variable; the results are those of the operator.
  llvm::Expected<llvm::SmallVector<Held, 2>> access(const Operator &op, llvm::ArrayRef<Held> operands);
  /// Is it an operator of resource variables?
  static bool isAccess(const Operator &op);

  llvm::MapVector<const Value *, Held> tensors;
  struct Resource {
    Held held;
    const Value *handle; ///< by which it was assigned the last time
  };
  llvm::MapVector<uint64_t, Resource> resources; ///< that were assigned, by the symbols of their handles

private:
  const Machine &machine;
};

} // namespace origo::eval::exact
