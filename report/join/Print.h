#pragma once

#include "report/join/Join.h"
#include "report/origin/Words.h"

namespace origo::report {

/// What the lines of a table are.
enum class By { Row, Operator, Type, Scope, Pass, Line, File };

/// A line of a table by anything but rows.
struct RolledUp {
  std::string key;    ///< untrusted
  uint32_t id = 0;    ///< of By::Operator
  unsigned level = 0; ///< of By::Scope
  uint64_t ns = 0;
  size_t written = 0, source = 0;        ///< operators, of By::Pass
  std::optional<uint64_t> sourceNs = {}; ///< of By::Pass: what the source took for the same
};

/// Operators by id, everything else by falling time. Lines of scopes are those of report/Scopes.h; what a pass took
/// part in is counted for each of its passes. `source`, which may be null, is a profile of the source.
std::vector<RolledUp> rollUp(const Join &join, const MapNames &names, By by, const Join *source);

/// How much of a table is shown, and in which order.
struct TableOptions {
  bool full = false; ///< shorten no names, and list every row that is about no operator
  size_t top = 0;    ///< only so many lines, of what costs most; 0: all
  bool byId = false; ///< operators by id instead of by falling cost
};
void printJoin(const Join &join, const MapNames &names, By by, const Join *source, const TableOptions &options,
               llvm::raw_ostream &os);
void printJoinCsv(const Join &join, const MapNames &names, By by, const Join *source, llvm::raw_ostream &os);
void printJoinJson(const Join &join, const MapNames &names, const Join *source, llvm::raw_ostream &os);
/// A trace for Perfetto and chrome://tracing: the rows one after another, and below them the shares of their origins.
void printJoinTrace(const Join &join, const MapNames &names, llvm::raw_ostream &os);

// What a row says of its operators, in JSON and in CSV.
std::optional<uint32_t> subgraphOf(const JoinedRow &row);
std::optional<uint32_t> indexOf(const JoinedRow &row); ///< none for several operators
/// The first output of the row's operator, or what the profiler says.
llvm::StringRef tensorOf(const JoinedRow &row, const MapNames &names);

/// 1234567 as "1.235", rounded.
std::string milliseconds(uint64_t ns);
/// The share of `ns` in `total`, such as "12.5".
std::string percent(uint64_t ns, uint64_t total);

} // namespace origo::report
