#pragma once

#include "report/Scopes.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>

/// Two builds compared operator by operator of their source, however differently they were fused.
namespace origo::report {

/// What `origin-dump --join --json` wrote, as far as comparing needs it.
struct JoinSummary {
  std::string fingerprint; ///< of the source
  uint64_t total = 0, synthetic = 0, unattributed = 0;
  std::map<uint32_t, std::pair<std::string, uint64_t>> operators; ///< by id: name, nanoseconds
  std::map<uint32_t, std::string> lines;                          ///< by id, of a program, "net.py:25", where known
};
llvm::Expected<JoinSummary> readJoinSummary(llvm::StringRef text);

enum class CompareBy { Operator, Scope, Line, File };
/// What several operators are added up by: "scope", "line", "file".
llvm::StringRef nameOf(CompareBy by);
/// The lines that an operator counts in, which has this name and was called from that line of a program.
std::vector<ScopeLine> sumsOf(CompareBy by, const Scopes &scopes, llvm::StringRef name, llvm::StringRef line);
/// Operators by id, or lines by falling change, whichever way, or by what the one or the other takes.
enum class CompareOrder { Id, Change, A, B };
struct CompareTable {
  bool full = false;
  size_t top = 0;                            ///< only so many lines; 0: all
  CompareOrder order = CompareOrder::Change; ///< scopes have no ids: by what both take together
};
enum class CompareFormat { Table, Csv, Json };
/// Operators of different sources (a network and what another tool quantised) are the same if their name is; where few
/// are, it is refused. Lines of scopes are those of report/Scopes.h. `table` is of CompareFormat::Table; the others
/// have all lines by id. The result is a line for the user, or empty.
llvm::Expected<std::string> compareJoins(const JoinSummary &a, const JoinSummary &b, CompareBy by, CompareFormat format,
                                         const CompareTable &table, llvm::raw_ostream &os);

} // namespace origo::report
