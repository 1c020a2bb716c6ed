#pragma once

#include "ir/Model.h"

namespace origo {

/// Checks a model between passes: each operator's row (counts of operands and results, options table), use lists and
/// producers, topological order, graph interface and signatures, types and shapes against the inference rules where
/// both are known, and the conservation law of docs/architecture.md. That operators with effects keep their order is
/// not checked. Files contradict the rules of types and shapes now and then: unless `strict`, that is accepted of what
/// no rewrite has touched. Returns the violations, one line each; numbers the model, and takes time in proportion to
/// it.
std::vector<std::string> verify(Model &model, bool strict = false);

} // namespace origo
