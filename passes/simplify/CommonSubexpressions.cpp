#include "passes/Rule.h"

namespace origo {

Pass CommonSubexpressions() {
  return Pass{"common-subexpressions",
              "f(x), f(x) -> f(x): the same operator with the same options and operands",
              Phase::Simplify,
              true,
              {{"common_subexpression_elimination", {}}, {"convert_nchw_to_nhwc", {{Op::TRANSPOSE, {}}}}},
              {Rule::mergeEqual(anyOf(pureOperators()))}}
      .about("Equal is judged by number, operator by operator in order: the same code, options and operands, and "
             "constants with the same bytes. Operators of `f(x, y)` that do not care for the order of their "
             "operands may have them the other way round. What has effects, keeps state or is random is never "
             "merged. The survivor has the origins of both.");
}

} // namespace origo
