#pragma once

#include "ir/Model.h"

namespace origo {

/// Finds operators that compute the same, and constants that hold the same. Keys are hashes of all that makes two
/// equal: kind, options, operands (in any order where the operator is commutative), types, shapes and quantisation of
/// the results, and bytes. Entries may be out of date: whoever is found is compared.
class ValueNumbers {
public:
  /// An operator other than `op` of the same subgraph that computes the same now; null: none, and `op` is remembered.
  Operator *findEqual(Operator &op);
  /// A constant other than `value` of the same subgraph that holds the same; null: none, and `value` is remembered.
  Value *find(Value &value);

  /// The memory of a constant is about to be used for another.
  void forget(const Value &value) { contents.erase(&value); }

private:
  llvm::DenseMap<uint64_t, llvm::SmallVector<Operator *, 1>> operators;
  llvm::DenseMap<uint64_t, llvm::SmallVector<Value *, 1>> constants;
  llvm::DenseMap<const Value *, uint64_t> contents; ///< hashes of all bytes, made where the ends are equal

  uint64_t keyOf(const Operator &op, bool full);
  uint64_t contentOf(const Value &value);
};

/// The same bytes, type, shape and quantisation.
bool sameConstant(const Value &a, const Value &b);

} // namespace origo
