#pragma once

#include "ir/Mutation.h"

#include <array>
#include <optional>
#include <string>

/// The faults behind the calls of ir/Mutation.h, and how the runner asks for one.
namespace origo::mutation {

enum class Kind : uint8_t {
  DropParent, ///< of an operator: one of its origins
  SwapParent,
  AddParent,
  DropSource, ///< of a constant: what it was computed from
  SwapSource,
  AddSource,
  LoseRow, ///< of the ledger
  WrongFate,
  WrongTensor, ///< of a relation, like the three below
  WrongSteps,
  WrongExact,
  LoseRelation,
  CountAfterVisit, ///< of the exporter, like the two below
  FirstSubgraphOnly,
  OffByOne,
};
inline constexpr unsigned kinds = 15;
const char *nameOf(Kind kind);

/// The fault of this kind at its `event`-th opportunity in a run; the seed decides the rest.
struct Plan {
  Kind kind;
  unsigned event;
  uint64_t seed;
};

/// Begins a run: with one fault, or with none, to count the opportunities.
void start(std::optional<Plan> plan);
const std::array<unsigned, kinds> &opportunities();
/// What the fault was, in words; empty as long as it has not happened.
const std::string &done();
/// Pseudo-random numbers that are the same everywhere.
uint64_t mix(uint64_t number);

} // namespace origo::mutation
