#include "origin/codec/Embedded.h"

#include "llvm/ADT/STLExtras.h"

using namespace origo::origin;

std::string origo::origin::summary(const MapView &view) {
  size_t written = 0, fromSeveral = 0, synthetic = 0;
  for (size_t graph = 0; graph < view.map.target.subgraphs.size(); ++graph) {
    written += view.rows.operatorCount(graph);
    for (const OperatorRow &row : view.rows.operators(graph)) {
      fromSeveral += row.origins.size() > 1;
      synthetic += !row.syntheticReason.empty();
    }
  }
  size_t gone = 0;
  view.rows.ledger([&](const MapLedgerRow &row) { gone += !row.isTensor; });
  // Numbers only: names are any bytes, and of any length.
  return "Origo: " + std::to_string(written) + " operators from " + std::to_string(view.source.operatorCount()) +
         " of the source; " + std::to_string(fromSeveral) + " do the work of several, " + std::to_string(synthetic) +
         " are synthetic, " + std::to_string(gone) + " of the source are gone. origin-dump tells which.";
}
