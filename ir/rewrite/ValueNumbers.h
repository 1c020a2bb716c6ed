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
  /// Most are alone with their quick hash and have one small entry; only others are listed, by the hash of everything.
  template <class T> struct Table {
    llvm::DenseMap<uint64_t, llvm::PointerIntPair<T *, 1, bool>> firsts; ///< true: there were more
    llvm::DenseMap<uint64_t, llvm::SmallVector<T *, 1>> others;
    template <class Same> T *find(T &item, uint64_t quick, llvm::function_ref<uint64_t(const T &)> full, Same same);
  };
  Table<Operator> operators;
  Table<Value> constants;
  llvm::DenseMap<const Value *, uint64_t> contents; ///< hashes of many bytes, made where the ends are equal

  uint64_t keyOf(const Operator &op, bool full);
  uint64_t contentOf(const Value &value);
};

/// The same bytes, type, shape and quantisation.
bool sameConstant(const Value &a, const Value &b);

} // namespace origo
