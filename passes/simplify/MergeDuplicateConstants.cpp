#include "passes/Rule.h"

namespace origo {

Pass MergeDuplicateConstants() {
  return Pass{"merge-duplicate-constants",
              "equal constants -> one",
              Phase::Simplify,
              false,
              {{"remove_duplicate_const", {}}},
              {},
              /*mergesConstants=*/true}
      .about("Constants of one subgraph are equal that have the same type, shape, quantisation and bytes. Their "
             "origins join: the one that stays names the source constants that it was, and what becomes of it "
             "later is told of each by who used it. Names do not count.");
}

} // namespace origo
