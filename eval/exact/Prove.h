#pragma once

#include "eval/exact/Machine.h"

#include <map>

namespace origo::eval {

namespace exact {
/// The least and the greatest real number that a stored tensor holds, and half a step more, by tensor.
using Ends = std::map<const Value *, std::pair<double, double>>;
} // namespace exact

/// A tensor that is not what it should be.
struct Difference {
  const Value *value;
  std::optional<uint32_t> source; ///< id of the source tensor that it is related to; none: it is an output
  std::string text;
};

/// What exact arithmetic says of two models (docs/proof.md). Relations and outputs, each counted once for all runs.
struct Proof {
  unsigned equal = 0;
  unsigned assumed = 0; ///< equal by an identity of functions without a formula: the doubles agree to their last digits
  std::map<std::string, unsigned> functions; ///< equal behind operators of which only is known that they give the same
                                             ///< for the same: by operator
  std::vector<std::string> assumptions;      ///< what numbers of constants were taken for
  std::map<std::string, unsigned> undecided; ///< by reason
  std::vector<Difference> different;         ///< in the order of execution, outputs last
  uint64_t seed = 0;                         ///< by which it can be run again
  std::vector<uint64_t> primes;              ///< that numbers were computed modulo
  uint64_t comparisons = 0;                  ///< of numbers by their order
  uint64_t nearComparisons = 0;              ///< of these, too near to be decided
  uint64_t divisionsByZero = 0;              ///< and other results that are not defined
  uint64_t stored = 0;                       ///< numbers of tensors that have ends
  uint64_t clipped = 0;                      ///< of these, beyond them

  unsigned undecidedTensors() const {
    unsigned all = 0;
    for (const auto &[reason, count] : undecided)
      all += count;
    return all;
  }
};

struct ProveOptions {
  uint64_t seed = 1; ///< of inputs, symbols and the second prime
  exact::Limits limits = {};
  exact::Ends ends = {}; ///< of tensors of `after`
};

/// Runs a model and what passes have made of it without rounding, once modulo 2⁶¹ − 1 and once modulo a prime that the
/// seed draws, and compares the outputs and all computed tensors that are related to one of the source. Each tensor
/// that stands for one of the source goes on with the source's numbers, so that it is judged by the operators since
/// those before it. `recipes`: how the constants of `after` were computed. An error: one of the two cannot be run, or
/// nothing was compared.
llvm::Expected<Proof> prove(const Model &before, const Model &after, const exact::Recipes &recipes,
                            const ProveOptions &options = {});

} // namespace origo::eval
