#pragma once

#include "report/join/Join.h"

/// Rows that say a type and a place in a sequence, and no operator.
namespace origo::report {

/// The rows of a run, one behind another, to all operators of their subgraph, which run as the file lists them or
/// `byLevels`.
void alignRuns(std::vector<JoinedRow> &rows, const origin::Target &target, const origin::FileGraph *graph,
               bool byLevels, std::vector<std::string> &notes);

/// The rows of delegates to the operators of their nodes. A delegate's own row is around them then, and what it took
/// beyond them a row of its own.
void splitDelegates(Join &join, const origin::Target &target, const origin::FileGraph *graph);

} // namespace origo::report
