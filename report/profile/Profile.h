#pragma once

#include "report/profile/SharedText.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What profilers write, as rows of one form. Each format has a reader of its own in report/formats/ that knows nothing
/// of models; matching rows to operators is report/join/'s.
namespace origo::report {

/// What only few profilers say of the operators behind a row.
struct ProfileDetails {
  std::vector<uint32_t> partition; ///< operators, ascending
  SharedText outputs;              ///< names of all outputs, as joinNames() has them
  SharedText prefixed;             ///< the name of one output, to which the profiler may have added something
  /// What ran the source itself: the name of its operator, or of one that stands for several, which is called after the
  /// last one's result.
  SharedText sourceName;
  std::vector<std::string> tensors;  ///< names of outputs of several operators that one kernel computes
  std::vector<std::string> linked;   ///< types of operators that are computed with it, behind its own
  std::vector<uint64_t> shape;       ///< of its result, in any layout
  std::vector<uint64_t> resultShape; ///< height, width and depth
  std::optional<uint64_t> offset;    ///< of the code that was running
  std::optional<uint64_t> kernel;
  SharedText symbol;      ///< of the code that was running: the name of a kernel, or ending with its number
  SharedText fingerprint; ///< of the model that was measured; empty: not said

  bool operator==(const ProfileDetails &) const = default;
};

/// Small, for there may be a million.
struct ProfileRow {
  SharedText rawName; ///< what the profiler calls it
  SharedText backend; ///< empty: not said
  /// What is measured. Only "time" and "cycles" are summed: other rows lie inside of these (`delegate_time`), around
  /// them (`graph_time`), aside (`init_time`), or are no time at all (`memory`).
  SharedText metric = defaults().time;
  SharedText unit = defaults().nanoseconds;
  uint64_t value = 0; ///< of all `count` calls together
  uint64_t count = 1;

  // What it says of the operators behind it; nothing of this need be there or true.
  std::optional<uint32_t> subgraph, op;
  /// Its place in the sequence that it is of: of a delegate's rows within their node, of others within the run.
  std::optional<uint32_t> step;
  SharedText kind;   ///< the profiler's name for the type of the operator
  SharedText tensor; ///< the name of one output
  const ProfileDetails &details() const {
    static const ProfileDetails none;
    return more ? *more : none;
  }
  /// To be changed. Copies of the row do not.
  ProfileDetails &ownDetails() {
    if (!more || more.use_count() > 1)
      more = std::make_shared<ProfileDetails>(details());
    return *more;
  }

  bool isSummed() const { return metric == "time" || metric == "cycles"; }

private:
  struct Defaults {
    SharedText time = "time", nanoseconds = "ns";
  };
  static const Defaults &defaults() {
    static const Defaults texts;
    return texts;
  }
  std::shared_ptr<ProfileDetails> more;
};

struct Profile {
  std::string tool;
  std::deque<ProfileRow> rows; ///< of which there may be a million: they stay where they are
  /// A row of an operator that calls subgraphs includes the rows of those.
  bool includesCallees = false;
  /// Rows in sequence are by levels, as operators are far from the inputs, and not as the file lists operators; fused
  /// activations are at the level behind.
  bool byLevels = false;
  std::vector<std::string> notes; ///< lines for the user
};

/// Names the column of a table for each role of Table.cpp, for example {"ms", "Duration"}.
using ColumnNames = std::vector<std::pair<std::string, std::string>>;

struct ProfileOptions {
  std::string format; ///< empty: told from the content
  ColumnNames columns;
};

/// Any bytes end in rows or in an error of one line.
llvm::Expected<Profile> readProfile(llvm::StringRef bytes, const ProfileOptions &options = {});

/// "a, b" as benchmark_model lists outputs in a CSV file, where a comma becomes a tab.
std::string joinNames(llvm::ArrayRef<std::string> names);

/// The nodes that a delegate replaced, from benchmark_model's --model_runtime_info_output_file.
struct RuntimePartition {
  uint32_t subgraph = 0;
  uint32_t node = 0; ///< the index of the node that stands for them
  std::vector<uint32_t> replaced;
};
llvm::Expected<std::vector<RuntimePartition>> readRuntimeInfo(llvm::StringRef bytes);

} // namespace origo::report
