#pragma once

#include "origin/OriginMap.h"
#include "origin/check/Graph.h"
#include "report/join/Split.h"
#include "report/profile/KernelTable.h"
#include "report/profile/Profile.h"

#include "llvm/ADT/SmallVector.h"

#include <map>

/// The rows of a profile, matched to operators of the written model and divided among those of the source.
namespace origo::report {

/// How a row was found to be about its operators.
enum class Match : uint8_t {
  Exact,     ///< by what identifies them: index, and names where the profiler gives some; or a kernel of the table
  Tensor,    ///< by the name of an output alone
  Partition, ///< several operators, and the profiler says which
  Approx,    ///< by a guess: the operators in front of a delegate's outputs, or the longest name that fits
  Aligned,   ///< by its type and its place in a sequence of rows, with a score
  Merged,    ///< a sum over several partitions of a delegate, divided among what it may be about
  None
};
const char *matchName(Match match);

/// Small, for there may be a million.
struct JoinedRow {
  explicit JoinedRow(ProfileRow &row) : row(row) {}

  ProfileRow &row; ///< in Join::measured
  Match match = Match::None;
  bool overhead = false; ///< what a delegate took beyond its rows
  uint16_t score = 0;    ///< of Aligned: of a hundred
  uint32_t subgraph = 0;
  std::vector<uint32_t> operators;                   ///< of the written model, ascending
  llvm::SmallVector<uint64_t, 0> weights;            ///< of Merged: how its time is divided among them
  std::optional<uint32_t> source;                    ///< the only operator of the source that it is about
  uint64_t ns = 0;                                   ///< what it adds to the total; 0 for what is not summed
  std::vector<uint32_t> origins;                     ///< ascending
  std::vector<std::pair<uint32_t, uint64_t>> shares; ///< source operator, nanoseconds; ascending
  uint64_t synthetic = 0, unattributed = 0;
};

struct Join {
  // A copy's rows would lie in the other's `measured`.
  Join() = default;
  Join(Join &&) = default;
  Join &operator=(Join &&) = default;

  std::string tool;
  std::deque<ProfileRow> measured;
  std::vector<JoinedRow> rows; ///< each of one that is measured
  /// total == attributed + synthetic + unattributed
  uint64_t total = 0, attributed = 0, synthetic = 0, unattributed = 0;
  uint64_t overhead = 0, merged = 0; ///< parts of `unattributed`, and of the rest
  bool foreign = false;              ///< no row is about an operator of the model
  std::vector<std::string> notes;    ///< lines for the user
};

struct JoinOptions {
  uint64_t hertz = 1'000'000'000;                        ///< of the clock that cycles are counted in
  std::map<std::string, std::string, std::less<>> names; ///< the profiler's name of a layer, to that of a tensor
  std::vector<RuntimePartition> partitions;
  std::optional<KernelTable> kernels;
  const origin::OriginMap *map = nullptr; ///< to find rows that name operators of the source; null: none does
  std::string fileHash; ///< SHA-256 of the written model's file, which a profile may name it by; empty: not known
};

/// Matches rows to operators of `target`; `graph` may be null, then a delegate's partition is what it ends with.
llvm::Expected<Join> matchRows(Profile profile, const origin::Target &target, const origin::FileGraph *graph,
                               const JoinOptions &options);
/// The kernels of a code generator that tells them by offsets in rows of a profile (Vela's debug database).
KernelTable kernelsOf(const Join &join, const origin::Target &target);
/// Divides the time of matched rows among the origins of their operators.
llvm::Error divideTime(Join &join, const origin::OriginMap &map, SplitWeights &weights);

/// The time of each source operator that has some share, by id.
std::map<uint32_t, uint64_t> timeByOperator(const Join &join);

} // namespace origo::report
