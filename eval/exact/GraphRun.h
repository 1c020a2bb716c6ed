#pragma once

#include "eval/exact/Variables.h"

namespace origo::eval::exact {

/// A graph while it runs without rounding, operator by operator, so that two can be led side by side.
class GraphRun {
public:
  /// `inputs`: in the order of the graph's.
  /// `leads`: what its doubles do not decide is so, as it was decided: who is led by it decides nothing anew.
  GraphRun(const Machine &machine, Variables &state, const Subgraph &graph, llvm::ArrayRef<Held> inputs, bool leads);
  const Subgraph &graph;

  /// Computes the next operator; null: there is none.
  llvm::Expected<const Operator *> step();
  /// Goes on until a tensor is computed. Empty: it is none of this graph, or is forgotten.
  llvm::Expected<Held> until(const Value &value);
  /// A tensor that was computed or given, or a constant; empty: none of these, or forgotten.
  llvm::Expected<Held> find(const Value &value) const;
  /// What goes on in its place.
  void replace(const Value &value, Held held) {
    if (auto known = tensors.find(&value); known != tensors.end())
      known->second = std::move(held);
  }
  /// Somebody looks at it once more.
  void keep(const Value &value) { ++uses[&value]; }
  void release(const Value &value);
  llvm::Expected<llvm::SmallVector<Held>> outputs();

private:
  const Machine &machine;
  Variables &state;
  const bool leads;
  std::vector<const Operator *> order;
  size_t next = 0;
  llvm::DenseMap<const Value *, Held> tensors;
  llvm::DenseMap<const Value *, unsigned> uses; ///< that are to come

  using Results = llvm::Expected<llvm::SmallVector<Held, 2>>;
  Results compute(const Operator &op, llvm::ArrayRef<Held> operands) const;
  Results call(const Operator &op, llvm::ArrayRef<Held> operands) const;
  Results callOne(const Subgraph &callee, llvm::ArrayRef<Held> operands) const;
};

} // namespace origo::eval::exact
