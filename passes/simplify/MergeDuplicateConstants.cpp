#include "passes/Rule.h"

namespace origo {

Pass MergeDuplicateConstants() {
  return {"merge-duplicate-constants",
          "equal constants -> one",
          Phase::Simplify,
          false,
          {{"remove_duplicate_const", {}}},
          {},
          /*mergesConstants=*/true};
}

} // namespace origo
