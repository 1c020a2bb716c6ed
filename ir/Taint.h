#pragma once

#include "ir/Model.h"

namespace origo {

/// Which values an operator that computes in another order of float operations has had a part in. No relation of
/// theirs is exact, whatever it says itself. Goes by the numbers of operators and values: the model must be numbered.
class Taint {
public:
  explicit Taint(const Model &model);
  bool operator()(const Value &value) const { return values[value.subgraph()->index][value.index]; }

private:
  const Model &model;
  std::vector<std::vector<bool>> values;
  std::vector<bool> inexactInside; ///< has an inexact operator, or calls a subgraph that has
  std::vector<bool> inputsTainted; ///< is called with a tainted operand
  bool stateTainted = false;       ///< a tainted value was written to a variable

  bool markInexactSubgraphs();
  bool pass();
  void visit(const Operator &op, std::vector<unsigned> &work);
};

} // namespace origo
