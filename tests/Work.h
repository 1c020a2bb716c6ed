#pragma once

#include "ir/Model.h"

#include <algorithm>

namespace origo::test {

/// About how many multiplications a run takes: each element of a result meets the constant's elements of its channel.
inline double workOf(const Model &model) {
  double work = 0;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      for (const Value *result : op.results())
        if (result && !result->shape.empty()) {
          double each = 1;
          for (const Use &use : op.operands())
            if (const Value *filter = use.get(); filter && filter->isConstant() && filter->rank() > 1)
              each = std::max(each, double(filter->elementCount().value_or(1)) / std::max(1, result->shape.back()));
          work += each * double(result->elementCount().value_or(1));
        }
  return work;
}

} // namespace origo::test
