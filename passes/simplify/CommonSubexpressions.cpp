#include "passes/Rule.h"

namespace origo {

Pass CommonSubexpressions() {
  return {"common-subexpressions",
          "f(x), f(x) -> f(x): the same operator with the same options and operands",
          Phase::Simplify,
          true,
          {{"common_subexpression_elimination", {}}, {"convert_nchw_to_nhwc", {{Op::TRANSPOSE, {}}}}},
          {Rule::mergeEqual(anyOf(pureOperators()))}};
}

} // namespace origo
