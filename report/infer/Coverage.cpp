#include "report/infer/InferredMap.h"

#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

/// How much has been found.
namespace origo::report {

using namespace origin;

void InferredMap::count(const Subgraph &graph) {
  TargetSubgraph &rows = map.target.subgraphs[graph.index];
  for (TensorRow &row : rows.tensors)
    if (row.constant && row.tensors.empty() && row.operators.empty() && row.syntheticReason.empty()) {
      row.reason = "synthetic";
      row.syntheticReason = "unknown";
    }
  for (const Value *value : graph.values) {
    const FoundTensor *known = claimed(*value);
    if (value->isConstant()) {
      const TensorRow &row = rows.tensors[value->index];
      ++coverage.constants.all;
      coverage.constants.related += known || !row.tensors.empty() || row.syntheticReason == "invented-constant";
      coverage.constants.proved += known && known->executed;
      // What few bits are to stand for is told by the source's number beside, or by nothing.
      bool few = isReal(*value) && bitsPerElement(value->type).value_or(32) < 16;
      coverage.constants.unknown += row.syntheticReason == "unknown" || (!known && few && row.relations.empty());
      continue;
    }
    if (!value->producer())
      continue;
    ++coverage.tensors.all;
    coverage.tensors.related += known != nullptr;
    coverage.tensors.proved += known && known->executed;
    coverage.tensors.ambiguous += known && search.isAmbiguous(*known);
    // What lies between related tensors is told by these.
    coverage.tensors.unknown += !known && (ends.lookup(value).empty() || starts.lookup(value).empty());
    bool flat = known && search.isFlat(*known->source);
    coverage.flat += flat;
    coverage.live += !flat;
    coverage.related += known && !flat;
  }
  for (const Operator &op : graph.operators) {
    const OperatorRow &row = rows.operators[op.index];
    bool unknown = row.syntheticReason == "unknown";
    ++coverage.operators.all;
    coverage.operators.related += !unknown;
    coverage.operators.unknown += unknown;
    bool proved = !unknown, ambiguous = false;
    for (const Value *value : op.results())
      if (value) {
        const FoundTensor *known = claimed(*value);
        proved = proved && known && known->executed;
        ambiguous = ambiguous || (known && search.isAmbiguous(*known));
      }
    coverage.operators.proved += proved;
    if (unknown || !proved || ambiguous)
      doubts.push_back({static_cast<uint32_t>(graph.index), static_cast<uint32_t>(op.index),
                        unknown     ? InferDoubt::Unknown
                        : ambiguous ? InferDoubt::Ambiguous
                                    : InferDoubt::Unproved});
  }
}

} // namespace origo::report
