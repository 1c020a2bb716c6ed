#pragma once

#include "ir/Model.h"

namespace origo {

/// Which values something inexact has had a part in: an operator that computes in another order of float operations, or
/// a constant that was computed otherwise than the source does. It follows from the flags of operators and constants in
/// one pass over the graph, so a rewrite states what is true of itself only. Goes by the numbers of operators and
/// values: the model must be numbered.
class Taint {
public:
  explicit Taint(const Model &model);
  bool operator()(const Value &value) const { return values[value.subgraph()->index][value.index]; }
  /// What everyone who reads a relation goes by: its own flag alone does not know what came before.
  bool exact(const Value &value, const Relation &relation) const { return relation.exact && !(*this)(value); }

private:
  const Model &model;
  std::vector<std::vector<bool>> values;
  std::vector<bool> inexactInside; ///< has an inexact operator or constant, or calls a subgraph that has
  std::vector<bool> inputsTainted; ///< is called with a tainted operand
  bool stateTainted = false;       ///< a tainted value was written to a variable

  bool markInexactSubgraphs();
  bool pass();
  void visit(const Operator &op, std::vector<unsigned> &work);
};

} // namespace origo
