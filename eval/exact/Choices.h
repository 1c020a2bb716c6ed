#pragma once

#include "eval/exact/Machine.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace origo::eval::exact {

/// One of the things that an operator may choose: a bound, a side, an answer.
struct Choice {
  enum Kind : uint8_t { Lower, Upper, Through, Negative, Positive, Answer, Side } kind;
  uint64_t what;       ///< the numbers that are chosen, or that are compared: equal for equal ones
  bool seen;           ///< it was chosen
  double bound = NAN;  ///< of Lower and Upper: where it is one number
  unsigned other = ~0; ///< of these: the operand that is bounded; ~0: what the operator computes
};

/// What was seen of the operators of a model that choose by the order of numbers or by conditions. What they never
/// chose says nothing of what is behind it.
class Choices {
public:
  struct Site {
    llvm::SmallVector<Choice, 3> choices;
    uint64_t made = 0; ///< its result in the run in which it was computed first
  };
  llvm::MapVector<const Operator *, Site> sites;
  llvm::DenseSet<const Subgraph *> ran;

  /// Notes what an operator has just chosen, which `math` tells too.
  void add(const Arithmetic &math, const Operator &op, llvm::ArrayRef<Held> operands, llvm::ArrayRef<Held> results);
};

} // namespace origo::eval::exact
