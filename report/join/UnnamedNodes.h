#pragma once

#include "report/join/Join.h"

/// Nodes of delegates whose outputs have no names, as those of subgraphs that are called have none.
namespace origo::report {

/// `nodes`, which are of one subgraph, are about what no other row is about. Several divide that as TFLite does, which
/// `graph` tells; where it tells another number of nodes, they stay what they were.
void placeUnnamed(llvm::ArrayRef<JoinedRow *> nodes, std::vector<JoinedRow> &rows, const origin::Target &target,
                  const origin::FileGraph *graph);

} // namespace origo::report
