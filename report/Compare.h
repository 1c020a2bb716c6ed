#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>

/// Two builds of one source, compared operator by operator of that source, however differently they were fused.
namespace origo::report {

/// What `origin-dump --join --json` wrote, as far as comparing needs it.
struct JoinSummary {
  std::string fingerprint; ///< of the source
  uint64_t total = 0, synthetic = 0, unattributed = 0;
  std::map<uint32_t, std::pair<std::string, uint64_t>> operators; ///< by id: name, nanoseconds
};
llvm::Expected<JoinSummary> readJoinSummary(llvm::StringRef text);

enum class CompareFormat { Table, Csv, Json };
/// Refuses builds of different sources.
llvm::Error compareJoins(const JoinSummary &a, const JoinSummary &b, CompareFormat format, bool full,
                         llvm::raw_ostream &os);

} // namespace origo::report
