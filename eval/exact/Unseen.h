#pragma once

#include "eval/exact/Choices.h"

#include <map>

namespace origo::eval::exact {

/// A model and what was seen of it.
struct Looked {
  const Model &model;
  const Choices &choices;
};

using Bodies = std::pair<const Subgraph *, const Subgraph *>;

/// Graphs of two models that stand for each other and that one of both has never run, although it runs who may call
/// them. `sources`: the tensors of the source by their ids.
std::vector<Bodies> neverRun(const Looked &source, const Looked &result,
                             const std::map<uint32_t, const Value *> &sources);

/// What one model never chose and the other one does not have: another number could be behind it. Each by a text that
/// names the operator, with what never happened. What cannot happen, by what is computed before, is none.
std::vector<std::string> neverChosen(const Looked &source, const Looked &result);

} // namespace origo::eval::exact
