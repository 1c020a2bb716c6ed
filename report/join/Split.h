#pragma once

#include "origin/OriginMap.h"
#include "origin/check/Graph.h"

#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <set>

/// How the time of an operator is divided among the source operators that it does the work of.
namespace origo::report {

enum class SplitRule { Macs, Bytes, Equal, Measured };

/// The parts of `total` in proportion to the weights, which are positive; what division leaves over goes to the first
/// parts, one each. The parts add up to `total`.
std::vector<uint64_t> divide(uint64_t total, llvm::ArrayRef<uint64_t> weights);

/// Multiply-accumulates of an operator of a file, as far as its shapes tell them.
std::optional<uint64_t> macsOf(const origin::FileGraph &graph, uint32_t op);

/// The weights of source operators. The source's shapes are not in the map, so without the source model they are taken
/// from the written one as far as that tells them.
class SplitWeights {
public:
  /// `source` and `target` may be null. `source` must be the map's.
  SplitWeights(SplitRule rule, const origin::OriginMap &map, const origin::FileGraph *source,
               const origin::FileGraph *target)
      : rule(rule), map(map), source(source), target(target) {}

  /// Of rule Measured: nanoseconds by source operator.
  std::map<uint32_t, uint64_t> measured;

  /// Of source operator `id`, as one of the origins of these operators of the written model.
  uint64_t of(uint32_t id, uint32_t subgraph, llvm::ArrayRef<uint32_t> operators);
  /// How many source operators were weighed with less than their own shapes.
  size_t estimated() const { return guessed.size(); }

private:
  SplitRule rule;
  const origin::OriginMap &map;
  const origin::FileGraph *source, *target;
  std::set<uint32_t> guessed;

  uint64_t macsOf(uint32_t id, uint32_t subgraph, llvm::ArrayRef<uint32_t> operators);
  uint64_t bytesOf(uint32_t id, uint32_t subgraph, llvm::ArrayRef<uint32_t> operators);
};

} // namespace origo::report
