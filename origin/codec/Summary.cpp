#include "origin/codec/Embedded.h"

#include "llvm/ADT/STLExtras.h"

using namespace origo::origin;

std::string origo::origin::summary(const OriginMap &map) {
  size_t written = 0, fromSeveral = 0, synthetic = 0;
  for (const TargetSubgraph &graph : map.target.subgraphs) {
    written += graph.operators.size();
    for (const OperatorRow &row : graph.operators) {
      fromSeveral += row.origins.size() > 1;
      synthetic += !row.syntheticReason.empty();
    }
  }
  auto gone = llvm::count_if(map.ledger, [](const MapLedgerRow &row) { return !row.isTensor; });
  // Numbers only: names are any bytes, and of any length.
  return "Origo: " + std::to_string(written) + " operators from " + std::to_string(map.source.operatorCount()) +
         " of the source; " + std::to_string(fromSeveral) + " do the work of several, " + std::to_string(synthetic) +
         " are synthetic, " + std::to_string(gone) + " of the source are gone. origin-dump tells which.";
}
