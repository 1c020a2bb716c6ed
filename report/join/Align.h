#pragma once

#include "origin/OriginMap.h"
#include "origin/check/Graph.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

/// Sequences of rows that say types and no indices, aligned to the operators that they come from: as many as possible
/// agree, in order; of operators of one type, those that cost more have the rows that take longer. What a runtime takes
/// into a neighbour (a PAD, an activation) has no row; what it does in several steps has several.
namespace origo::report {

/// What aligning needs to know of an operator of the written model.
struct OperatorFacts {
  uint32_t index = 0; ///< in its subgraph
  std::string op;
  std::vector<uint64_t> shape;             ///< of its first result: what is more than 1, ascending
  std::optional<bool> takesFloat, isFloat; ///< elements of the first operand and of the first result
  std::optional<bool> pointwise;           ///< a window of 1 and strides of 1
  bool hasActivation = false;              ///< a fused one
  bool constant = false;                   ///< all its operands are
  uint64_t cost = 0;                       ///< multiply-accumulates, or else elements of the first result
  unsigned operands = 0, results = 0;
  std::vector<uint32_t> producers, consumers; ///< indices in its subgraph
};
/// Of these operators of a subgraph. `graph` may be null, which tells types only.
std::vector<OperatorFacts> factsOf(const origin::Target &target, const origin::FileGraph *graph, uint32_t subgraph,
                                   llvm::ArrayRef<uint32_t> operators);

/// The indices of all operators of a subgraph.
std::vector<uint32_t> allOperators(const origin::Target &target, uint32_t subgraph);

/// The same by their distance from the inputs, and as they were within a level. A fused activation is one of its own,
/// at the level behind. What only constants lead to, and a PAD that a convolution takes in, is no level.
std::vector<OperatorFacts> byLevels(llvm::ArrayRef<OperatorFacts> facts);

struct SequenceRow {
  std::string kind;
  std::vector<std::string> linked; ///< types that are computed with it
  std::vector<uint64_t> shape;     ///< as OperatorFacts has it; empty: not said
  std::optional<uint32_t> anchor;  ///< the position of the operator that the row is known to be about
  double time = 0;                 ///< of a call; 0: not said
};

struct Placed {
  size_t row = 0;                  ///< which of the rows that its step could be
  std::vector<uint32_t> positions; ///< of operators, ascending: the row's own, and those that it takes in
  uint32_t own = 0;
  unsigned score = 0;   ///< of a hundred
  bool certain = false; ///< no other alignment is as good, and its type is known
};

struct Alignment {
  int64_t total = 0;
  std::vector<std::optional<Placed>> steps; ///< by step, as many as it uses
  size_t audible = 0, placed = 0;           ///< operators that should have a row, and those that have
};

struct AlignOptions {
  /// How many steps it may use; empty: all.
  std::vector<size_t> lengths;
  bool openEnd = false; ///< rows of the last operators may be missing
};

/// `steps[n]` are the rows of which one is the n-th. Takes time in proportion to operators and steps.
Alignment align(llvm::ArrayRef<OperatorFacts> operators, llvm::ArrayRef<std::vector<SequenceRow>> steps,
                const AlignOptions &options);

/// How well a row fits to an operator alone, beside others.
int fitOf(const OperatorFacts &op, const SequenceRow &row);

} // namespace origo::report
